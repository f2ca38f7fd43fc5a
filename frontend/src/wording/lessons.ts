/**
 * The words of the scenarios, of the engine's own file: what they are called, what they show, and their captions.
 *
 * A recording has a caption as a note in English, with the scenario and its number before it. By these it is found here, and what
 * happened is read out of it by its template, so that it can be said in another language wherever the recording is opened.
 */

import told from '../../../engine/kvarium_engine/scenarios/captions.json';
import type { Language } from '../language';

type Words = Readonly<Record<Language, string>>;

interface Lesson {
  readonly title: Words;
  readonly told: Words;
  readonly captions: readonly Words[];
}

export const LESSONS: Readonly<Record<string, Lesson>> = told;

export interface Said {
  readonly scenario: string;
  /** From 1. */
  readonly number: number;
  readonly of: number;
  readonly text: string;
}

const NOTE = /^([a-z0-9-]{1,60}) (\d{1,3})\/(\d{1,3}): (.+)$/s;
const VALUE = /\{(\w+)\}/g;

/** A template as a pattern of what it becomes. */
function patternOf(template: string): RegExp {
  const parts = template
    .split(/\{\w+\}/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('(.+?)')}$`, 's');
}

/** The values of a template's names in a text that was made of it; null: it was not. */
export function valuesOf(template: string, made: string): Readonly<Record<string, string>> | null {
  const found = patternOf(template).exec(made);
  if (found === null) return null;
  const names = [...template.matchAll(VALUE)].map(([, name]) => name!);
  return Object.fromEntries(names.map((name, i) => [name, found[i + 1] ?? '']));
}

/** A number as it is written in a language: thousands stand apart by a point in Vietnamese. */
const written = (value: string, language: Language): string =>
  language === 'vi' ? value.replaceAll(/(?<=\d),(?=\d{3}(?!\d))/g, '.') : value;

/** What a note says as a caption of a scenario; null: it is another note. What this page does not know stays as it was recorded. */
export function captionOf(note: string, language: Language): Said | null {
  const found = NOTE.exec(note);
  if (found === null) return null;
  const [, scenario, number, of, text] = found as unknown as [string, string, string, string, string];
  const words = Object.hasOwn(LESSONS, scenario)
    ? LESSONS[scenario]!.captions[Number(number) - 1]
    : undefined;
  const values = words === undefined ? null : valuesOf(words.en, text);
  return {
    scenario,
    number: Number(number),
    of: Number(of),
    text:
      words === undefined || values === null
        ? text
        : words[language].replaceAll(VALUE, (_, name: string) => written(values[name] ?? '', language)),
  };
}

/** What a scenario is called; of one that this page does not know, its name. */
export const titleOf = (scenario: string, language: Language): string =>
  Object.hasOwn(LESSONS, scenario) ? LESSONS[scenario]!.title[language] : scenario;

export const toldOf = (scenario: string, language: Language): string =>
  Object.hasOwn(LESSONS, scenario) ? LESSONS[scenario]!.told[language] : '';
