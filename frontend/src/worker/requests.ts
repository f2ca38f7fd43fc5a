/** Who answers for a session: a server, or the page itself where it holds the recording. */

import { EmbeddedRequests } from './embedded';
import type { OpenOptions } from './session';
import { type Requests, ServerRequests } from './source';

export function requestsOf({ api, session, recording }: OpenOptions): Requests {
  // Only the build that is exported has the first: the page of a server asks the server.
  if (import.meta.env.MODE === 'embedded' && recording !== null) return new EmbeddedRequests(recording);
  return new ServerRequests(api, session);
}
