/** A row of the prefix tree, and the heads of its columns. */

import { integer } from '../format';
import { hello, position, tree } from '../store/ledger';
import { hover, selection, selectSequence } from '../store/selection';
import { text } from '../text';
import { oneLine } from '../wording/piece';
import type { TreeRow } from '../worker/answers/tree';

const words = text.tree;
const COLUMNS = ['text', 'length', 'below', 'copies', 'hits', 'holders', 'idle'] as const;
/** Deeper levels are drawn as this one. */
const MOST_LEVELS = 24;

export function Heads() {
  return (
    <div class="treeheads" aria-hidden="true">
      {COLUMNS.map((column) => (
        <span key={column} class={`c-${column}`} title={words.columnTitles[column]}>
          {words.columns[column]}
        </span>
      ))}
    </div>
  );
}

/** What the blocks of a row are, as parts of a strip. */
function Strip({ states }: { readonly states: TreeRow['states'] }) {
  const [cached, active, shared] = states;
  return (
    <i class="strip" title={words.states(states)}>
      {shared > 0 && <u class="shared" style={{ flexGrow: shared }} />}
      {active > 0 && <u class="active" style={{ flexGrow: active }} />}
      {cached > 0 && <u class="cached" style={{ flexGrow: cached }} />}
    </i>
  );
}

function Words({ row }: { readonly row: TreeRow }) {
  const line = oneLine(row.text ?? '');
  if (line !== '') return <span class="words">{line}</span>;
  if (row.isLoading) return <span class="words faint">{words.loading}</span>;
  return (
    <span class="words faint" title={words.notRecorded}>
      {words.content(row.first)}
    </span>
  );
}

function Holders({ row }: { readonly row: TreeRow }) {
  if (row.holding === 0) {
    if (row.rank === null) return <span class="c-holders" />;
    return (
      <span class={`c-holders num ${row.rank === 0 ? 'warn' : 'faint'}`} title={words.placeTitle(row)}>
        {words.place(row.rank)}
      </span>
    );
  }
  const rest = row.holding - row.holders.length;
  const labels = row.holders.map(({ label }) => label).join(', ');
  return (
    <span class="c-holders num" title={words.holders(labels, rest)}>
      {row.holding > 1 && <b>{words.holding(row.holding)}</b>}
      {row.holders.map(({ sequence, label }) => (
        <button
          key={sequence}
          type="button"
          class="link num"
          tabIndex={-1}
          data-part="holder"
          onClick={() => selectSequence(sequence)}
        >
          {label}
        </button>
      ))}
    </span>
  );
}

function Idle({ row, step }: { readonly row: TreeRow; readonly step: number }) {
  const [, active, shared] = row.states;
  if (active + shared > 0) return <span class="c-idle used">{words.used}</span>;
  if (row.freed === null) {
    return (
      <span class="c-idle faint" title={words.earlierTitle}>
        {words.earlier}
      </span>
    );
  }
  return (
    <span class="c-idle num" title={words.idleTitle(row.freed)}>
      {words.idle(Math.max(0, step - row.freed))}
    </span>
  );
}

interface Props {
  readonly row: TreeRow;
  readonly index: number;
  readonly top: number;
  /** The most blocks beneath a row at the top. */
  readonly most: number;
  readonly step: number;
  /** Are the keys here? */
  readonly isAt: boolean;
}

export function Row({ row, index, top, most, step, isAt }: Props) {
  const size = hello.value?.block_size ?? 1;
  const { block, sequence } = selection.value;
  const isSelected = block !== null && row.blocks.includes(block);
  const isHot = hover.value.block !== null && row.blocks.includes(hover.value.block);
  const isHeld = sequence !== null && row.holders.some((each) => each.sequence === sequence);
  const canOpen = row.branches > 0;
  const extra = row.held - row.length;
  const looks = [
    'treerow',
    row.isBlock && 'one',
    isAt && 'at',
    isSelected && 'selected',
    (isHot || isHeld) && 'hot',
    row.standing !== 'reachable' && 'lost',
    row.met !== 'not' && 'met',
  ];
  const { found } = tree.value ?? {};
  return (
    <div
      id={`tree-${index}`}
      class={looks.filter(Boolean).join(' ')}
      style={{ transform: `translateY(${top}px)`, '--level': Math.min(row.level, MOST_LEVELS) }}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.level + 1}
      aria-expanded={canOpen || row.length > 1 ? row.isOpen || row.isUnrolled : undefined}
      aria-selected={isSelected}
      aria-posinset={row.place}
      aria-setsize={row.setSize}
      data-row={index}
      data-content={row.first}
    >
      <span class="c-text" title={words.block(row, size)}>
        {/* Opened by the arrow keys, too. */}
        <span
          class={`twist${canOpen ? '' : ' none'}`}
          data-part={canOpen ? 'open' : undefined}
          title={row.isOpen ? words.close : words.open}
          aria-hidden="true"
        >
          {row.isOpen ? '▾' : '▸'}
        </span>
        <Strip states={row.states} />
        <Words row={row} />
        {row.met === 'end' && found && (
          <span class={`mark ${found.isWhole ? '' : 'warn'}`}>
            {found.isWhole ? words.ends : words.differs}
          </span>
        )}
        {(row.standing === 'cut off' || row.standing === 'unknown') && (
          <span class="mark warn" title={words.standingTitles[row.standing]}>
            {words.standing[row.standing]}
          </span>
        )}
      </span>
      <span class="c-length num">
        {row.length > 1 && (
          <button
            type="button"
            class={`plain run${row.isUnrolled ? ' on' : ''}`}
            tabIndex={-1}
            data-part="unroll"
            title={words.unroll(row)}
          >
            {words.rowBlocks(row)}
          </button>
        )}
      </span>
      <span class="c-below num" title={words.below(row)}>
        {!row.isBlock && (
          <>
            <span class="track">
              <span style={{ width: `${(100 * row.below) / Math.max(1, most)}%` }} />
            </span>
            {integer(row.below)}
          </>
        )}
      </span>
      <span class="c-copies num" title={extra > 0 ? words.copies(row) : undefined}>
        {extra > 0 && words.more(extra)}
      </span>
      <span class={`c-hits num${row.hits === 0 ? ' faint' : ''}`}>{integer(row.hits)}</span>
      <Holders row={row} />
      <Idle row={row} step={step} />
    </div>
  );
}

/** What the tree has in all, beside the choice of the panel. */
export function TreeSums() {
  const answer = tree.value;
  if (answer === null || answer.contents === 0) return null;
  const isOld = answer.step !== position.value.step;
  return (
    <div class="legend">
      <span class="num">{words.sums(answer.contents, answer.blocks)}</span>
      {answer.unknown > 0 ? (
        <span class="warn">
          {answer.fault === null ? words.asking(answer.unknown) : words.failed(answer.fault)}
        </span>
      ) : (
        answer.unreachable > 0 && (
          <span class="warn num" title={words.unreachableTitle}>
            {words.unreachable(answer.unreachable)}
          </span>
        )
      )}
      {isOld && (
        <span class="faint num" title={words.asOfTitle}>
          {words.asOf(answer.step)}
        </span>
      )}
    </div>
  );
}
