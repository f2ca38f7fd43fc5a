import { expect, test } from 'vitest';
import { recording } from '../../tests/recording';
import type { Hello, Step } from '../ledger/generated/types';
import { positionOf } from './position';
import { Publisher } from './publisher';
import { Session } from './session';
import type { Requests } from './source';

const SLICE = 10;

test('a view that is only on its way somewhere tells where to, once, and leaves the panels as they are', async () => {
  const made = recording(20, 4, 5, 60);
  const steps = made.records.filter((each): each is Step => each.type === 'step');
  const requests = {
    ...made.requests(),
    steps: async () => ({
      step: steps.map(({ step }) => step),
      record: steps.map(({ record }) => record),
      op: steps.map(({ op }) => op),
      time: steps.map(({ sealed }) => sealed),
    }),
    landmarks: async () => ({ landmarks: [], indexed_record: null }),
    lanes: async () => ({ through: made.lastStep, stretches: [], names: {} }),
    pieces: async () => ({ pieces: {}, indexed_record: null }),
    contents: async () => [],
    events: async () => ({ rows: [], next: null }),
  } as unknown as Requests;
  const hello = { num_blocks: 20, block_size: 4, utc_us: 0, record_text: 'none' } as unknown as Hello;
  const session = new Session(
    {
      session: 'toy',
      api: 'http://localhost/api/',
      live: false,
      to: null,
      lastStep: made.lastStep,
      lastRecord: made.records.length - 1,
      recording: null,
      wish: { text: true, rate: null },
    },
    hello,
    requests,
    () => {},
  );
  const publisher = new Publisher(session);
  publisher.want({
    colouring: 'state',
    order: 'number',
    tables: { from: 0, to: 9, state: 'running', words: '', order: 'arrival', descending: false },
    queue: 5,
    scheduler: true,
    events: { filter: [], at: null, before: 200, after: 60 },
    tree: null,
    selection: { block: null, sequence: null, request: null },
    rectangle: null,
    requests: [],
    series: { range: 'all', steps: 60, width: 60, overview: 60, lanes: { rows: 4, offset: 0 } },
    token: null,
  });
  let now = 0;
  const work = (): void => {
    session.work(SLICE);
    while (publisher.work(performance.now() + SLICE));
    now += 1000;
  };
  const settle = async (): Promise<void> => {
    do {
      await new Promise((resolve) => setTimeout(resolve));
      work();
    } while (session.navigator.moving || !session.fold.loaded);
  };
  await settle();
  const panels = (): unknown[] => {
    const { tables, queue, scheduler, events, series, landmarks } = publisher.view(now).view;
    return [tables, queue, scheduler, events, series, landmarks].map((each) => each !== null);
  };
  expect(panels()).toEqual([true, true, true, true, true, true]);
  expect(publisher.due(now)).toBeNull();

  session.transport.seek(50);
  work();
  expect(publisher.due(now)).toBe(0);
  const { view } = publisher.view(now);
  expect([view.position.target, view.position.moving, view.position.step]).toEqual([50, true, 0]);
  expect([view.map, view.tables, view.queue, view.scheduler, view.events, view.series]).toEqual(
    Array(6).fill(null),
  );
  work();
  expect(publisher.due(now)).toBeNull();

  await settle();
  expect(publisher.due(now)).toBe(0);
  const { target, step } = positionOf(session);
  expect([target, step]).toEqual([null, 50]);
  // The timeline's buckets and landmarks are those that it has.
  expect(panels()).toEqual([true, true, true, true, false, false]);
  session.close();
});
