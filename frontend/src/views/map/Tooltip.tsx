/** What the map says of the block under the pointer. */

import { hello, position, tables } from '../../store/ledger';
import { picture } from '../../store/picture';
import { pixelRatio } from '../../store/scale';
import { hover } from '../../store/selection';
import { text } from '../../text';
import { classOf, countOf, filledOf, hasContent } from '../../worker/word';
import { camera, moves, pointerOnMap } from './movement';

export function Tooltip() {
  const block = hover.value.block;
  // Follow what happens to the block while the pointer rests on it.
  void [position.value.record, moves.value];
  if (block === null || camera.scale === 0 || !pointerOnMap.value) return null;
  const word = picture.wordOf(block);
  const size = hello.value?.block_size ?? 1;
  const ratio = pixelRatio();
  const { x, y } = camera.place(picture.cellOf(block));
  const right = x / ratio > camera.width / ratio - 190;
  const style = {
    left: right ? 'auto' : `${(x + camera.scale) / ratio + 8}px`,
    right: right ? `${(camera.width - x) / ratio + 8}px` : 'auto',
    top: `${Math.max(2, Math.min(camera.height / ratio - 60, y / ratio - 4))}px`,
  };
  const holders = (tables.value?.rows ?? [])
    .filter((row) => row.blocks?.includes(block))
    .map((row) => row.label);
  return (
    <div class="tip" style={style}>
      <b class="num">{block}</b> {text.map.tip(text.states.ofClass[classOf(word)]!, countOf(word))}
      <br />
      <span class="dim">
        {text.map.filled(Math.round(filledOf(word) * size), size)}
        {hasContent(word) && ` · ${text.map.content}`}
      </span>
      {holders.length > 0 && (
        <>
          <br />
          <span class="num">{holders.slice(0, 6).join(' · ')}</span>
        </>
      )}
    </div>
  );
}
