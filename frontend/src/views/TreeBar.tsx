/** Above the prefix tree: the text that is looked for, what was found, and the order. */

import { hello, isContiguous, tree } from '../store/ledger';
import { treeFind, treeSort } from '../store/tree';
import { text } from '../text';
import { SORTS } from '../worker/tree/layout';

const words = text.tree;

export function TreeBar() {
  const told = hello.value;
  if (isContiguous.value || told?.config?.enable_prefix_caching === false) return null;
  const hasText = (told?.record_text ?? 'full') === 'full';
  const found = tree.value?.found ?? null;
  const typed = treeFind.value;
  return (
    <div class="filters treebar" role="toolbar" aria-label={words.find}>
      {/* Of several lines, as prompts are. */}
      <textarea
        class="find"
        rows={1}
        spellcheck={false}
        data-filter
        disabled={!hasText}
        aria-label={words.find}
        placeholder={hasText ? words.findHint : words.findNoText}
        value={typed}
        onInput={(event) => {
          treeFind.value = event.currentTarget.value;
        }}
      />
      <span class="space" />
      <span class="dim">{words.sort}</span>
      <div class="segments">
        {SORTS.map((sort) => (
          <button
            key={sort}
            type="button"
            aria-pressed={treeSort.value === sort}
            class={treeSort.value === sort ? 'on' : ''}
            title={words.sortTitles[sort]}
            onClick={() => {
              treeSort.value = sort;
            }}
          >
            {words.sorts[sort]}
          </button>
        ))}
      </div>
      <span class={`found num ${found !== null && !found.isWhole ? 'warn' : 'dim'}`} role="status">
        {found !== null && typed.trim() !== '' && words.found(found, typed, told?.block_size ?? 1)}
      </span>
    </div>
  );
}
