// Builds the input for a fleet member: the fleet's input, followed by named answers of other members.

export interface Answer {
  readonly name: string;
  readonly text: string;
  readonly data?: unknown;
}

/** Maximum length per answer, and in total, in UTF-16 units. */
const MAX_ANSWER = 65_536;
const MAX_ANSWERS = 262_144;

/** Appends the last answer to the input of the fleet. */
export const afterAnswer = (input: string, answer: Answer): string => withAnswers(input, [answer]);

export function withAnswers(input: string, answers: readonly Answer[]): string {
  const most = Math.min(MAX_ANSWER, Math.floor(MAX_ANSWERS / Math.max(1, answers.length)));
  const parts = answers.map(({ name, text }) => `Answer of ${name}:\n${cut(text, most)}`);
  return [input, ...parts].filter((part) => part !== '').join('\n\n');
}

const TRUNCATION_MARK = ' […]';

const cut = (text: string, most: number) =>
  text.length <= most ? text : text.slice(0, most - TRUNCATION_MARK.length).toWellFormed() + TRUNCATION_MARK;
