/** The buttons that set the marks A and B, and what compares them. */

import { jump } from '../../store/clock';
import { clearMarks, isComparing, marks, setMark, toggleComparing } from '../../store/compared';
import { text } from '../../text';

const words = text.compare;

export function Marks() {
  const { A, B } = marks.value;
  return (
    <span class="marks" role="toolbar" aria-label={words.marks}>
      {(['A', 'B'] as const).map((name) => {
        const at = marks.value[name];
        return (
          <span key={name}>
            <button type="button" class="plain" title={words.set(name)} onClick={() => setMark(name)}>
              {name}
            </button>
            {at !== null && (
              <button type="button" class="plain num" title={words.goTo(name)} onClick={() => jump(at)}>
                {words.step(at)}
              </button>
            )}
          </span>
        );
      })}
      {A !== null && B !== null && (
        <button
          type="button"
          class="plain"
          aria-pressed={isComparing.value}
          title={words.show}
          onClick={toggleComparing}
        >
          {words.difference}
        </button>
      )}
      {(A !== null || B !== null) && (
        <button type="button" class="plain" aria-label={words.clear} title={words.clear} onClick={clearMarks}>
          ×
        </button>
      )}
    </span>
  );
}
