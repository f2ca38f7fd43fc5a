/** The device's memory as a strip: weights, the pool of keys and values, activations, graphs, the rest; with numbers. */

import { bytes, percent } from '../format';
import { hello } from '../store/ledger';
import { text } from '../text';
import { deviceMemoryOf, SHARES } from './deviceMemory';

const words = text.memory;

export function MemoryStrip() {
  const told = hello.value;
  if (told === null) return null;
  const memory = deviceMemoryOf(told);
  return (
    <>
      <div class="head">
        <h2 title={words.told}>{words.title}</h2>
      </div>
      {memory === null ? (
        <p class="hint dim" data-testid="memory">
          {words.none}
        </p>
      ) : (
        <div class="memory" data-testid="memory">
          <div class="strip" role="img" aria-label={words.title}>
            {SHARES.map((share) => {
              const size = memory.shares[share] ?? 0;
              const said = words.part(words.shares[share], bytes(size), percent(size, memory.known));
              return size > 0 && <i key={share} class={share} style={{ flexGrow: size }} title={said} />;
            })}
          </div>
          <dl class="shares">
            {SHARES.map((share) => {
              const size = memory.shares[share];
              return (
                <div key={share} title={words.titles[share]} data-share={share}>
                  <dt>
                    <i class={`swatch ${share}`} />
                    {words.shares[share]}
                  </dt>
                  {size === null ? (
                    <dd class="faint">{words.notTold}</dd>
                  ) : (
                    <dd class="num">
                      {bytes(size)} <span class="dim">{percent(size, memory.known)}</span>
                    </dd>
                  )}
                </div>
              );
            })}
            <div data-share="total">
              <dt>{words.total}</dt>
              {memory.total === null ? (
                <dd class="faint">{words.notTold}</dd>
              ) : (
                <dd class="num">{bytes(memory.total)}</dd>
              )}
            </div>
          </dl>
        </div>
      )}
    </>
  );
}
