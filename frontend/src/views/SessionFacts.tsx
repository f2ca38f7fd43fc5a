/** The session: what the inspector tells while nothing is selected. */

import { bytes, clock, moment } from '../format';
import { hello, position } from '../store/ledger';
import { text } from '../text';

export function Session() {
  const told = hello.value;
  if (told === null) return null;
  const { memory_backend, reserve, kv_cache_dtype, load_format } = told.config ?? {};
  const each = told.kv_bytes_per_block ?? 0;
  return (
    <>
      <p class="hint dim">{text.inspector.hint}</p>
      <dl class="pairs">
        <dt>{text.inspector.model}</dt>
        <dd>{told.model || '–'}</dd>
        <dt>{text.inspector.engine}</dt>
        <dd>
          {told.engine} <span class="dim">· {told.runner}</span>
        </dd>
        <dt>{text.inspector.device}</dt>
        <dd>{told.device || '–'}</dd>
        <dt>{text.inspector.pool}</dt>
        <dd class="num">{text.inspector.poolOf(told.num_blocks, told.block_size)}</dd>
        {typeof memory_backend === 'string' && (
          <>
            <dt>{text.inspector.memory}</dt>
            <dd>{typeof reserve === 'string' ? text.inspector.reserves(reserve) : text.inspector.paged}</dd>
          </>
        )}
        {each > 0 && (
          <>
            <dt>{text.inspector.poolBytes}</dt>
            <dd class="num">
              {bytes(each * told.num_blocks)}
              {typeof kv_cache_dtype === 'string' && (
                <span class="dim"> {text.inspector.kvDtype(kv_cache_dtype)}</span>
              )}
            </dd>
          </>
        )}
        {load_format === 'dummy' && (
          <>
            <dt>{text.inspector.weights}</dt>
            <dd class="warn">{text.inspector.randomWeights}</dd>
          </>
        )}
        <dt>{text.inspector.started}</dt>
        <dd class="num">{moment(told.utc_us)}</dd>
        <dt>{text.inspector.clock}</dt>
        <dd class="num">
          {clock(position.value.time)}{' '}
          <span class="dim">{moment(told.utc_us + position.value.time / 1000).slice(11)}</span>
        </dd>
      </dl>
      <div class="head">
        <h2>{text.inspector.settings}</h2>
      </div>
      <dl class="pairs settings">
        {Object.entries(told.config ?? {})
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="num">{String(value)}</dd>
            </div>
          ))}
      </dl>
    </>
  );
}
