// `call` in a pseudo terminal: progress as a line that changes, questions of the server answered by hand, Ctrl-C.

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

/** What stands in the terminal, once it ends like this. */
async function says(terminal: Terminal, end: RegExp): Promise<string> {
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
  await terminal.end();
  return terminal.text;
}

/** Answers one prompt after the other. */
async function answer(terminal: Terminal, dialogue: readonly (readonly [RegExp, string])[]): Promise<void> {
  for (const [prompt, line] of dialogue) {
    await says(terminal, prompt);
    terminal.type(`${line}\r`);
  }
}

describe('call in a terminal', () => {
  test('shows progress as one line, which is gone when the result stands there', async () => {
    const terminal = call('trigger-long-running-operation', 'duration=1', 'steps=4');
    const text = await endOf(terminal);
    expect(text).toMatch(/\r␛\[K 25 % {2}1 of 4\r␛\[K 50 % {2}2 of 4/);
    expect(text).toMatch(
      /␛\[KLong running operation completed\. Duration: 1 seconds, Steps: 4\.\r\nENDED 0\r\nTERMINAL AS BEFORE/,
    );
  });

  test('TQ1: asks what the server asks, field by field, complains, and sends what was confirmed', async () => {
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
      [/untitledMultipleSelectEnum \(one or more, with commas\) \[Guitar\]: /, '1,Drums'],
      [/titledSingleSelectEnum \[hero-1\]: /, 'wonder woman'],
      [/titledMultipleSelectEnum \(one or more, with commas\) \[fish-1\]: /, ''],
      [/legacyTitledEnum \[pet-1\]: /, 'Reptiles'],
      [/Send this\? \[y\]es, \[n\]o declines, \[c\]ancel: /, 'y'],
    ]);
    const text = (await endOf(terminal)).replaceAll('\r\n', '\n');
    const content = JSON.parse(/Raw result: (\{[\s\S]*?\n\})/.exec(text)?.[1] ?? '{}');
    expect(content).toEqual({
      action: 'accept',
      content: {
        ...{ name: 'Ada', check: true, firstLine: 'It was a dark and stormy night.', email: 'a@b.c' },
        ...{ integer: 7, number: 3.14, untitledSingleSelectEnum: 'Joey' },
        ...{ untitledMultipleSelectEnum: ['Guitar', 'Drums'], titledSingleSelectEnum: 'hero-3' },
        ...{ titledMultipleSelectEnum: ['fish-1'], legacyTitledEnum: 'pet-5' },
      },
    });
    expect(text).toContain('TERMINAL AS BEFORE');
  });

  test.concurrent('TQ2: declines by a word and cancels by Ctrl-D; of an address it shows where it leads', async () => {
    const form = call('trigger-elicitation-request');
    await answer(form, [[/\nname: /, '/decline']]);
    expect(await endOf(form)).toMatch(/"action": "decline"/);
    const left = call('trigger-elicitation-request');
    await says(left, /\nname: /);
    left.type('\u0004');
    expect(await endOf(left)).toMatch(/"action": "cancel"/);
    const address = call('trigger-url-elicitation', 'url=https://example.com/way?x=1');
    const shown = await says(address, /Enter goes on, n declines, c cancels: /);
    expect(shown).toMatch(/https:\/\/example\.com\/way\?x=1\r\n {2}It leads to example\.com;/);
    address.type('\r');
    expect(await endOf(address)).toMatch(/"action": "accept"|accepted/);
  });

  test.concurrent('Ctrl-C cancels the call at the server and exits with 130, also in the middle of a question', async () => {
    const long = callOf('raw', 'count', '--input', '{"steps":600,"every_ms":100,"label":"endless"}');
    await says(long, /of 600 {2}endless/);
    long.type('\u0003');
    expect(await endOf(long)).toMatch(/cancelled\r\nENDED 130\r\nTERMINAL AS BEFORE/);
    const { stdout } = await runMain(['tools', 'call', 'raw', 'cancelled', '--url', gateway.url]);
    expect(stdout).toBe('[{"label":"endless"}]\n');
    const asked = call('trigger-elicitation-request');
    await says(asked, /\nname: /);
    asked.type('\u0003');
    expect(await endOf(asked)).toMatch(/ENDED 130\r\nTERMINAL AS BEFORE/);
  });
});
