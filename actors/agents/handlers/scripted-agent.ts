// An agent that is a list of rules in a file, for demonstrations and tests (`model: scripted:replies.yaml`):
//
//   - match: { text: '(?i)hello' }           a pattern (RE2) somewhere in the text
//     answer: 'Hello to you in {{conversation}}!'
//   - match: { command: deploy }             the name of the command
//     answer: 'Deploying {{parameters.env}}.'
//     delay_ms: 200                          answers so much later
//   - match: { command: remind }
//     answer: 'It is time.'
//     wait_ms: 3600000                       the same, but it waits without a place, over restarts too
//   - match: { event: pull_request.opened }  the name of the event, or the part before its dot
//     answer: 'Thank you for #{{repo.pr.number}}.'
//     fail: 2                                the first attempts fail
//   - match: { text: 'ready' }
//     answer: 'Ship it?'
//     title: 'Release 7'                     as chats show it with the text; so do fields: [{ name, value }]
//     actions: [{ id: ship, title: 'Ship' }] and what can be pressed or chosen, with style, description or url
//   - match: { text: 'review' }
//     answer: 'I would wait.'
//     data: { verdict: wait }                what a fleet votes on, and conditions of a flow look at
//   - answer: 'You said: {{input}}'          without match: everything
//
// The first rule whose conditions all hold answers; where none does nothing is answered. In an answer {{name}} stands for
// input, command, agent, trigger, conversation, attempt, event.name, event.id, parameters.…, and every name of the context.
// The file is read again when it has changed, which is looked for once a second at most. One that is half written, or gone
// for a moment, ends no event: the rules before it stay, and where there are none yet the attempt is made again.

import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { readScript, type ScriptCard, type ScriptRule } from '../../../config/resources/agents/script.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

const LOOK_MS = 1_000;

export class ScriptedAgent implements Handler {
  readonly #file: string;
  /** Undefined until the file was good once. */
  #rules: readonly ScriptRule[] | undefined;
  #version: string | undefined;
  #lookAt = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async run(
    job: Job,
    { signal, woken }: Pick<HandlerContext, 'signal' | 'woken'>,
  ): Promise<AgentReply | Parked> {
    const rules = await this.#current();
    const rule = rules.find((each) => isFor(each, job));
    if (rule === undefined) return { text: '' };
    if (rule.wait_ms > 0 && woken === undefined)
      return { parkedOn: `the script: ${job.idempotencyKey}`, wakeInMs: rule.wait_ms };
    if (rule.delay_ms > 0) await pause(rule.delay_ms, signal);
    if (job.attempt <= rule.fail)
      throw new HandlerError(`the script fails attempt ${job.attempt} of ${rule.fail}`);
    const text = filled(rule.answer, job);
    const card = rule.card && filledCard(rule.card, job);
    const data = rule.data && filledData(rule.data, job);
    return card === undefined && data === undefined
      ? { text }
      : { text, data: { ...(data as object), ...card } };
  }

  async #current(): Promise<readonly ScriptRule[]> {
    if (this.#rules !== undefined && performance.now() < this.#lookAt) return this.#rules;
    const fault = await this.#look();
    if (this.#rules === undefined)
      // Without its folder: whoever sent the event may be told.
      throw new HandlerError(`the script ${basename(this.#file)} cannot be used: ${fault}`);
    this.#lookAt = performance.now() + LOOK_MS;
    return this.#rules;
  }

  /** Takes the rules of a file that has changed; gives what is wrong with it. */
  async #look(): Promise<string | undefined> {
    const found = await stat(this.#file).catch(() => undefined);
    const version = found && `${found.mtimeMs} ${found.size}`;
    if (version !== undefined && version === this.#version) return undefined;
    const source = await readSourceFile(this.#file);
    if (!(source instanceof SourceFile)) return source.reason;
    const { rules, faults } = readScript(source);
    if (faults.length > 0) return faults[0];
    this.#rules = rules;
    this.#version = version;
    return undefined;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    throw new HandlerError('the script was given up before its answer', { cause: error });
  }
}

function isFor({ text, command, event }: ScriptRule, job: Job): boolean {
  if (text !== undefined && !text(job.input)) return false;
  // Those that people write keep their slash where others are names of events.
  if (command !== undefined && command !== job.command?.replace(/^\//, '')) return false;
  return event === undefined || event === job.event.name || event === job.event.name?.split('.')[0];
}

function filled(text: string, job: Job): string {
  return text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => placeValue(job, name));
}

/** Texts in it as an answer is. */
function filledData(value: unknown, job: Job): unknown {
  if (typeof value === 'string') return filled(value, job);
  if (Array.isArray(value)) return value.map((each) => filledData(each, job));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filledData(each, job)]));
}

function filledCard({ title, fields, actions }: ScriptCard, job: Job): ScriptCard {
  const filledItems = (items: NonNullable<ScriptCard['fields']>) =>
    items.map((item) =>
      Object.fromEntries(Object.entries(item).map(([name, text]) => [name, filled(text, job)])),
    );
  return {
    ...(title !== undefined && { title: filled(title, job) }),
    ...(fields !== undefined && { fields: filledItems(fields) }),
    ...(actions !== undefined && { actions: filledItems(actions) }),
  };
}

function placeValue(job: Job, name: string): string {
  const { input, command, agent, trigger, conversation, attempt, event, parameters } = job;
  const known: Readonly<Record<string, unknown>> = {
    input,
    command,
    agent,
    trigger,
    conversation,
    attempt,
    'event.name': event.name,
    'event.id': event.id,
  };
  const [first = '', ...rest] = name.split('.');
  if (first === 'parameters') return own(parameters, rest.join('.'));
  return own(Object.hasOwn(known, name) ? known : event.context, name);
}

function own(values: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  return value === undefined ? '' : String(value);
}
