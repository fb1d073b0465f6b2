// An agent defined by a list of rules in a file, for demonstrations and tests (`model:
// scripted:replies.yaml`):
//
//   - match: { text: '(?i)hello' }           an RE2 pattern that matches part of the text
//     answer: 'Hello to you in {{conversation}}!'
//   - match: { command: deploy }             the name of the command
//     answer: 'Deploying {{parameters.env}}.'
//     delay_ms: 200                          delay of the answer
//   - match: { command: remind }
//     answer: 'It is time.'
//     wait_ms: 3600000                       durable delay: releases the slot, continues after restarts
//   - match: { event: pull_request.opened }  the name of the event, or its part before the dot
//     answer: 'Thank you for #{{repo.pr.number}}.'
//     fail: 2                                number of first attempts that fail
//   - match: { text: 'ready' }
//     answer: 'Ship it?'
//     title: 'Release 7'                     title of the card; also fields: [{ name, value }]
//     actions: [{ id: ship, title: 'Ship' }] buttons of the card, with style, description or url
//   - match: { text: 'review' }
//     answer: 'I would wait.'
//     data: { verdict: wait }                value for a fleet's vote or a flow's condition
//   - answer: 'You said: {{input}}'          without match: any event
//
// The first rule whose conditions all match answers; if none matches, nothing is sent. Names in {{…}} are
// input, command, agent, trigger, conversation, attempt, event.name, event.id, parameters.… and the names of
// the context.
// The file is checked for changes up to once a second. While the file is invalid or missing, the previous
// rules stay in use; without previous rules the attempt fails and is repeated.

import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { readScript, type ScriptCard, type ScriptRule } from '../../../config/resources/agents/script.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import type { Parked } from './parked.ts';

const CHECK_INTERVAL_MS = 1_000;

export class ScriptedAgent implements Handler {
  readonly #file: string;
  /** Rules of the last valid file; undefined before the first one. */
  #rules: readonly ScriptRule[] | undefined;
  #version: string | undefined;
  #nextCheckAt = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async run(
    job: Job,
    { signal, waker }: Pick<HandlerContext, 'signal' | 'waker'>,
  ): Promise<AgentReply | Parked> {
    const rules = await this.#current();
    const rule = rules.find((each) => isFor(each, job));
    if (rule === undefined) return { text: '' };
    // A run with a waker has already waited.
    if (rule.wait_ms > 0 && waker === undefined)
      return { parkedOn: `the script: ${job.idempotencyKey}`, wakeInMs: rule.wait_ms };
    if (rule.delay_ms > 0) await pause(rule.delay_ms, signal);
    if (job.attempt <= rule.fail)
      throw new HandlerError(`the script fails attempt ${job.attempt} of ${rule.fail}`);
    const text = fillTemplate(rule.answer, job);
    const card = rule.card && fillCard(rule.card, job);
    const data = rule.data && fillData(rule.data, job);
    return card === undefined && data === undefined
      ? { text }
      : { text, data: { ...(data as object), ...card } };
  }

  async #current(): Promise<readonly ScriptRule[]> {
    if (this.#rules !== undefined && performance.now() < this.#nextCheckAt) return this.#rules;
    const fault = await this.#reload();
    if (this.#rules === undefined)
      // The sender may see this error, so it does not contain the folder.
      throw new HandlerError(`cannot use the script ${basename(this.#file)}: ${fault}`);
    this.#nextCheckAt = performance.now() + CHECK_INTERVAL_MS;
    return this.#rules;
  }

  /** Loads the rules if the file has changed. Returns the error if the file is invalid. */
  async #reload(): Promise<string | undefined> {
    const stats = await stat(this.#file).catch(() => undefined);
    const version = stats && `${stats.mtimeMs} ${stats.size}`;
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
    throw new HandlerError('the script was aborted before its answer', { cause: error });
  }
}

function isFor({ text, command, event }: ScriptRule, job: Job): boolean {
  if (text !== undefined && !text(job.input)) return false;
  // Commands from people keep their slash in `job.command`; rules are written without it.
  if (command !== undefined && command !== job.command?.replace(/^\//, '')) return false;
  return event === undefined || event === job.event.name || event === job.event.name?.split('.')[0];
}

function fillTemplate(text: string, job: Job): string {
  return text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => templateValue(job, name));
}

/** Fills the texts in the data as in an answer. */
function fillData(value: unknown, job: Job): unknown {
  if (typeof value === 'string') return fillTemplate(value, job);
  if (Array.isArray(value)) return value.map((each) => fillData(each, job));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fillData(each, job)]));
}

function fillCard({ title, fields, actions }: ScriptCard, job: Job): ScriptCard {
  const fillItems = (items: NonNullable<ScriptCard['fields']>) =>
    items.map((item) =>
      Object.fromEntries(Object.entries(item).map(([name, text]) => [name, fillTemplate(text, job)])),
    );
  return {
    ...(title !== undefined && { title: fillTemplate(title, job) }),
    ...(fields !== undefined && { fields: fillItems(fields) }),
    ...(actions !== undefined && { actions: fillItems(actions) }),
  };
}

function templateValue(job: Job, name: string): string {
  const { input, command, agent, trigger, conversation, attempt, event, parameters } = job;
  const jobValues: Readonly<Record<string, unknown>> = {
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
  return own(Object.hasOwn(jobValues, name) ? jobValues : event.context, name);
}

function own(values: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  return value === undefined ? '' : String(value);
}
