// An agent that is a list of rules in a file, for demonstrations and tests (`model: scripted:replies.yaml`):
//
//   - match: { text: '(?i)hello' }           a pattern (RE2) somewhere in the text
//     answer: 'Hello to you in {{conversation}}!'
//   - match: { command: deploy }             the name of the command
//     answer: 'Deploying {{parameters.env}}.'
//     delay_ms: 200                          answers so much later
//   - match: { event: pull_request.opened }  the name of the event, or the part before its dot
//     answer: 'Thank you for #{{repo.pr.number}}.'
//     fail: 2                                the first attempts fail
//   - answer: 'You said: {{input}}'          without match: everything
//
// The first rule whose conditions all hold answers; where none does nothing is answered. In an answer {{name}} stands for
// input, command, agent, trigger, conversation, attempt, event.name, event.id, parameters.…, and every name of the context.
// The file is read again when it has changed, which is looked for once a second at most.

import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RE2JS } from 're2js';
import { readScript, type ScriptRule } from '../../config/resources/script.ts';
import { type Answer, type Handler, HandlerError, type Job } from './handler.ts';

interface Rule extends ScriptRule {
  readonly pattern: RE2JS | undefined;
}

const LOOK_MS = 1_000;

export class ScriptedAgent implements Handler {
  readonly #file: string;
  #rules: readonly Rule[] = [];
  #version: string | undefined;
  #lookAt = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async run(job: Job, signal: AbortSignal): Promise<Answer> {
    const rules = await this.#current();
    const rule = rules.find((each) => isFor(each, job));
    if (rule === undefined) return { text: '' };
    if (rule.delay_ms > 0) await pause(rule.delay_ms, signal);
    if (job.attempt <= rule.fail)
      throw new HandlerError(`the script fails attempt ${job.attempt} of ${rule.fail}`);
    return {
      text: rule.answer.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (_, name: string) => placeValue(job, name)),
    };
  }

  async #current(): Promise<readonly Rule[]> {
    if (performance.now() < this.#lookAt) return this.#rules;
    try {
      const { mtimeMs, size } = await stat(this.#file);
      const version = `${mtimeMs} ${size}`;
      if (version !== this.#version) {
        this.#rules = rulesOf(await readFile(this.#file, 'utf8'));
        this.#version = version;
      }
      this.#lookAt = performance.now() + LOOK_MS;
      return this.#rules;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new HandlerError(`the script cannot be used: ${reason}`, { isFinal: true });
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    throw new HandlerError('the script was given up before its answer', { cause: error });
  }
}

function isFor({ pattern, command, event }: Rule, job: Job): boolean {
  if (pattern !== undefined && !pattern.matcher(job.input).find()) return false;
  if (command !== undefined && command !== job.command) return false;
  return event === undefined || event === job.event.name || event === job.event.name?.split('.')[0];
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

function rulesOf(source: string): readonly Rule[] {
  return readScript(source).map((rule, index) => {
    try {
      return { ...rule, pattern: rule.text === undefined ? undefined : RE2JS.compile(rule.text) };
    } catch {
      throw new Error(`rule ${index + 1}: match.text is no pattern`);
    }
  });
}
