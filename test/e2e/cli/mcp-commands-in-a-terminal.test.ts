// `call` in a pseudo terminal: progress line, questions of the server, Ctrl-C.

import { beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { everythingServer } from '../../fixtures/server/real-servers.ts';

let gateway: GatewayProcess;
beforeAll(async () => {
  const everything = { ...everythingServer, isolation: 'session' };
  gateway = await startGateway({ servers: { everything, raw: fault('echo') } });
});

const callOf = (...args: string[]) => new Terminal(['tools', 'call', ...args, '--url', gateway.url]);
const call = (...args: string[]) => callOf('everything', ...args);

const withoutSequences = (text: string) => text.replace(/␛\[[\d;]*[A-Za-z]/g, '');

/** Returns the terminal text once it matches `end`. */
async function waitForText(terminal: Terminal, end: RegExp): Promise<string> {
  const pattern = new RegExp(`${end.source}$`);
  try {
    return await eventually(`${pattern}`, () => {
      const text = withoutSequences(terminal.text);
      return pattern.test(text) ? text : undefined;
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}; there is\n${terminal.text.slice(-500)}`);
  }
}

async function endOf(terminal: Terminal): Promise<string> {
  await terminal.waitForExit();
  return terminal.text;
}

/** Answers the prompts in order. */
async function answer(terminal: Terminal, dialogue: readonly (readonly [RegExp, string])[]): Promise<void> {
  for (const [prompt, line] of dialogue) {
    await waitForText(terminal, prompt);
    terminal.type(`${line}\r`);
  }
}

describe('the command `call` in a terminal', () => {
  test('shows progress in one line, which the result replaces', async () => {
    const terminal = call('trigger-long-running-operation', 'duration=1', 'steps=4');
    const text = await endOf(terminal);
    expect(text).toMatch(/\r␛\[K 25 % {2}1 of 4\r␛\[K 50 % {2}2 of 4/);
    expect(text).toMatch(
      /␛\[KLong running operation completed\. Duration: 1 seconds, Steps: 4\.\r\nENDED 0\r\nTERMINAL AS BEFORE/,
    );
  });

  test('asks for the fields of a server question one by one, validates them, and sends the confirmed answer', async () => {
    const terminal = call('trigger-elicitation-request');
    await answer(terminal, [
      [/\nname: /, ''],
      [/an answer is required\r\nname: /, 'Ada'],
      [/check \(y\/n\): /, 'y'],
      [/firstLine \[It was a dark and stormy night\.\]: /, ''],
      [/email \(email\): /, 'nobody'],
      [/name@example\.com\r\nemail \(email\): /, 'a@b.c'],
      [/homepage \(uri\): /, ''],
      [/birthdate \(date\): /, ''],
      [/integer \(integer, 1 to 100\) \[42\]: /, '7'],
      [/number \(number, 0 to 1000\) \[3\.14\]: /, ''],
      [/untitledSingleSelectEnum \[Monica\]: /, '3'],
      [/untitledMultipleSelectEnum \(one or more, separated by commas\) \[Guitar\]: /, '1,Drums'],
      [/titledSingleSelectEnum \[hero-1\]: /, 'wonder woman'],
      [/titledMultipleSelectEnum \(one or more, separated by commas\) \[fish-1\]: /, ''],
      [/legacyTitledEnum \[pet-1\]: /, 'Reptiles'],
      [/Send this\? \[y\]es, \[n\]o declines, \[c\]ancel: /, 'y'],
    ]);
    const text = (await endOf(terminal)).replaceAll('\r\n', '\n');
    const content = JSON.parse(/Raw result: (\{[\s\S]*?\n\})/.exec(text)?.[1] ?? '{}');
    expect(content).toEqual({
      action: 'accept',
      content: {
        name: 'Ada',
        check: true,
        firstLine: 'It was a dark and stormy night.',
        email: 'a@b.c',
        integer: 7,
        number: 3.14,
        untitledSingleSelectEnum: 'Joey',
        untitledMultipleSelectEnum: ['Guitar', 'Drums'],
        titledSingleSelectEnum: 'hero-3',
        titledMultipleSelectEnum: ['fish-1'],
        legacyTitledEnum: 'pet-5',
      },
    });
    expect(text).toContain('TERMINAL AS BEFORE');
  });

  test.concurrent('declines a server question by a word, cancels it by Ctrl-D, and shows the destination of a URL', async () => {
    const form = call('trigger-elicitation-request');
    await answer(form, [[/\nname: /, '/decline']]);
    expect(await endOf(form)).toMatch(/"action": "decline"/);
    const leaving = call('trigger-elicitation-request');
    await waitForText(leaving, /\nname: /);
    leaving.type('\u0004');
    expect(await endOf(leaving)).toMatch(/"action": "cancel"/);
    const address = call('trigger-url-elicitation', 'url=https://example.com/way?x=1');
    const screen = await waitForText(address, /Enter continues, n declines, c cancels: /);
    expect(screen).toMatch(/https:\/\/example\.com\/way\?x=1\r\n {2}Its host is example\.com;/);
    address.type('\r');
    expect(await endOf(address)).toMatch(/"action": "accept"|accepted/);
  });

  test.concurrent('cancels the call at the server on Ctrl-C and exits with 130, also during a question', async () => {
    const long = callOf('raw', 'count', '--input', '{"steps":600,"every_ms":100,"label":"endless"}');
    await waitForText(long, /of 600 {2}endless/);
    long.type('\u0003');
    expect(await endOf(long)).toMatch(/cancelled\r\nENDED 130\r\nTERMINAL AS BEFORE/);
    const { stdout } = await runMain(['tools', 'call', 'raw', 'cancelled', '--url', gateway.url]);
    expect(stdout).toBe('[{"label":"endless"}]\n');
    const question = call('trigger-elicitation-request');
    await waitForText(question, /\nname: /);
    question.type('\u0003');
    expect(await endOf(question)).toMatch(/ENDED 130\r\nTERMINAL AS BEFORE/);
  });
});
