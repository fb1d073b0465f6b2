// What a member of a fleet is told: what the fleet was asked, and what others have answered. Answers stand as data, under the names of
// those who gave them.

export interface Answer {
  readonly name: string;
  readonly text: string;
  readonly data?: unknown;
}

/** Of one answer, and of all of them together, in UTF-16 units. */
const MAX_ANSWER = 65_536;
const MAX_ANSWERS = 262_144;

/** The first input stands above the answer that came last. */
export const afterAnswer = (input: string, answer: Answer): string => withAnswers(input, [answer]);

export function withAnswers(input: string, answers: readonly Answer[]): string {
  const most = Math.min(MAX_ANSWER, Math.floor(MAX_ANSWERS / Math.max(1, answers.length)));
  const parts = answers.map(({ name, text }) => `Answer of ${name}:\n${cut(text, most)}`);
  return [input, ...parts].filter((part) => part !== '').join('\n\n');
}

const CUT = ' […]';

const cut = (text: string, most: number) =>
  text.length <= most ? text : text.slice(0, most - CUT.length).toWellFormed() + CUT;
