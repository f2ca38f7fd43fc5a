/** An event that proves a finding: what it was, and the ways to its place, its request, its block, and to why. */

import { integer } from '../../format';
import { jumpTo } from '../../store/clock';
import type { Evidence, Finding, Moment, Who } from '../../store/generated/answers';
import { selectBlock, selectRequest, selectSequence } from '../../store/selection';
import { showWhy } from '../../store/why';
import { text } from '../../text';

const words = text.findings;

/** Right behind an operation on a block; where something holds before an operation, right before that. */
function goTo({ op, step }: Moment, isOperation: boolean): void {
  jumpTo({ kind: 'operation', operation: isOperation ? op : op - 1, step });
}

function select({ request, sequence }: Who): void {
  if (sequence === null) selectRequest(request);
  else selectSequence(sequence);
}

/** What is selected is shown as of the event: elsewhere it may not be there any more. */
function goAlong(at: Moment | null, isOperation: boolean): void {
  if (at !== null) goTo(at, isOperation);
}

export function Proof({ finding, evidence }: { readonly finding: Finding; readonly evidence: Evidence }) {
  const { at, who, life, link } = evidence;
  return (
    <li>
      <span class="num place">
        {at !== null && (
          <button type="button" class="link" title={words.go} onClick={() => goTo(at, life !== null)}>
            {integer(at.step)}
          </button>
        )}
      </span>
      <span class="proof">
        {who !== null && (
          <button
            type="button"
            class="link num"
            title={words.selectRequest}
            onClick={() => {
              select(who);
              goAlong(at, life !== null);
            }}
          >
            r{who.request}
          </button>
        )}
        {who !== null && who.name !== null && who.name !== '' && <span class="faint"> {who.name}</span>}
        {life !== null && (
          <>
            {who !== null && ' · '}
            <button
              type="button"
              class="link num"
              title={words.selectBlock}
              onClick={() => {
                selectBlock(life.block);
                goAlong(at, true);
              }}
            >
              {text.panels.block.toLowerCase()} {integer(life.block)}
              {life.generation !== null && <span class="faint">#{life.generation}</span>}
            </button>
          </>
        )}
        {(who !== null || life !== null) && ': '}
        {words.evidenceTold(finding, evidence)}
      </span>
      {link?.startsWith('why/') && (
        <button type="button" class="btn why" title={words.whyTitle} onClick={() => showWhy(link)}>
          {words.why}
        </button>
      )}
    </li>
  );
}
