/** What differs between the states at the marks A and B: of the blocks by kind, and by request. */

import { comparison, isComparing, marks } from '../../store/compared';
import { selectBlock, selectRequest } from '../../store/selection';
import { text } from '../../text';
import { CHANGED, type Comparison } from '../../worker/compare';

const words = text.compare;

function Blocks({ blocks }: Pick<Comparison, 'blocks'>) {
  return (
    <dl class="kinds">
      {CHANGED.map((kind) => {
        const { count, first } = blocks[kind];
        return (
          <div key={kind} title={words.kindTitles[kind]}>
            <dt>{words.kinds[kind]}</dt>
            <dd class="num" data-kind={kind}>
              {words.count(count)}
            </dd>
            <dd>
              {first !== null && (
                <button type="button" class="plain num" onClick={() => selectBlock(first)}>
                  {words.block(first)}
                </button>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function Requests({ requests, others }: Pick<Comparison, 'requests' | 'others'>) {
  if (requests.length === 0) return <p class="dim">{words.noRequest}</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>{words.request}</th>
          <th class="num">{words.gained}</th>
          <th class="num">{words.lost}</th>
          <th>{words.firstBlock}</th>
        </tr>
      </thead>
      <tbody>
        {requests.map(({ request, name, gained, lost, block }) => (
          <tr key={request} data-request={request}>
            <td>
              <button type="button" class="plain" onClick={() => selectRequest(request)}>
                <b class="num">r{request}</b> <span class="dim">{name}</span>
              </button>
            </td>
            <td class="num gained">{gained > 0 ? `+${gained}` : '–'}</td>
            <td class="num lost">{lost > 0 ? `−${lost}` : '–'}</td>
            <td>
              <button type="button" class="plain num" onClick={() => selectBlock(block)}>
                {words.block(block)}
              </button>
            </td>
          </tr>
        ))}
      </tbody>
      {others > 0 && <caption class="dim">{words.others(others)}</caption>}
    </table>
  );
}

export function Compare() {
  const { A, B } = marks.value;
  const found = comparison.value;
  if (!isComparing.value || A === null || B === null) return null;
  return (
    <section class="compare" aria-label={words.title} data-panel="compare">
      <div class="head">
        <h2>{words.title}</h2>
        <span class="num dim">{words.between(A, B)}</span>
        <button
          type="button"
          class="plain close"
          aria-label={words.close}
          onClick={() => {
            isComparing.value = false;
          }}
        >
          ×
        </button>
      </div>
      {found === null ? (
        <p class="dim" role="status">
          {words.asking}
        </p>
      ) : 'fault' in found ? (
        <p class="wrong" role="alert">
          {words.fault(found.fault)}
        </p>
      ) : (
        <>
          {!found.isVerified && <p class="wrong">{words.unverified}</p>}
          <Blocks blocks={found.blocks} />
          <Requests requests={found.requests} others={found.others} />
        </>
      )}
    </section>
  );
}
