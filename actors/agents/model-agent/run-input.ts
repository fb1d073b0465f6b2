// What a model is told when its run begins: what it remembers of the conversation, and what it is asked now. What comes with an event
// is data of strangers; it stands in what the user says, and never in the system prompt.

import type { AgentMemory } from '../../../config/resources/agents/model-runtime.ts';
import { remembered } from '../../../machines/agent-run/memory.ts';
import type { HistoryMessage, Job } from '../handlers/handler.ts';

/** In UTF-16 units, as the next. */
const MAX_INPUT = 65_536;
const MAX_CONTEXT = 16_384;
const MAX_VALUE = 2_048;
const CUT = ' […]';

export function messagesFor(job: Job, memory: AgentMemory): readonly HistoryMessage[] {
  return [...remembered(job.history, memory), { role: 'user', text: asked(job) }];
}

/** A plain message is what the person wrote; a command and an event say besides what they are and came with. */
function asked(job: Job): string {
  const words = cut(wordsOf(job), MAX_INPUT);
  const { command, parameters, event } = job;
  if (command === undefined && event.name === undefined) return words;
  const what = command === undefined ? `Event: ${event.name} (${event.type})` : `Command: ${command}`;
  const given = [...linesOf(parameters), ...linesOf(event.context)];
  const about = cut([what, ...given].join('\n'), MAX_CONTEXT);
  return words === '' ? about : `${about}\n\n${words}`;
}

function wordsOf({ input, inputJson }: Job): string {
  if (inputJson === undefined) return input;
  try {
    const value: unknown = JSON.parse(Buffer.from(inputJson).toString('utf8'));
    return typeof value === 'string' ? value : JSON.stringify(value);
  } catch {
    return input;
  }
}

function linesOf(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const text = typeof value === 'object' ? undefined : String(value ?? '');
    return text === undefined || text === '' ? [] : [`${name}: ${cut(text, MAX_VALUE)}`];
  });
}

const cut = (text: string, most: number) =>
  text.length <= most ? text : text.slice(0, most - CUT.length).toWellFormed() + CUT;
