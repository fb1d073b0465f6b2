// Terminal client of a local chat: sends typed input to the chat, and prints new and changed messages. Piped
// input waits for the answer before the next line.

import { createInterface, type Interface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { columnsOf, type Paint, paintFor } from '../../src/terminal/paint.ts';
import type { LocalChat } from '../../test/fixtures/chats/local-chat.ts';
import { drawn } from './drawing.ts';
import type { Gateway } from './gateway.ts';
import { type ParsedLine, parseLine } from './typed.ts';

const POLL_MS = 60;
/** Maximum wait for an answer to piped input. */
const ANSWER_MS = 15_000;
const FIRST_PLACE = 'Ada';

export class Conversation {
  readonly #chat: LocalChat;
  readonly #gateway: Gateway;
  readonly #signal: AbortSignal;
  readonly #paint: Paint = paintFor(process.stdout, process.env);
  readonly #isTyped = process.stdin.isTTY === true;
  readonly #input: Interface;
  /** Last printed state of each message, by place and id. */
  readonly #drawn = new Map<string, string>();
  readonly #places = new Set([FIRST_PLACE]);
  #place = FIRST_PLACE;

  constructor(chat: LocalChat, gateway: Gateway, signal: AbortSignal) {
    this.#chat = chat;
    this.#gateway = gateway;
    this.#signal = signal;
    this.#input = createInterface({
      input: process.stdin,
      ...(this.#isTyped && { output: process.stdout }),
      terminal: this.#isTyped,
      completer: (line: string) => this.#completed(line),
    });
  }

  /** Runs until the user quits, the input ends, or the signal is aborted. Returns the exit code. */
  async run(): Promise<number> {
    const ended = new AbortController();
    const end = () => ended.abort();
    this.#signal.addEventListener('abort', end);
    if (this.#signal.aborted) end();
    // In a terminal, readline handles Ctrl-C.
    this.#input.on('SIGINT', end);
    this.#welcome();
    const watching = this.#watch(ended.signal);
    try {
      await Promise.race([this.#read(ended.signal), this.#gateway.failed]);
    } finally {
      end();
      this.#input.close();
      await watching;
    }
    if (this.#isTyped) process.stdout.write('\n');
    return 0;
  }

  #welcome(): void {
    const { url, commands } = this.#gateway;
    const command = [...commands].map(([name, { parameters = [] }]) =>
      [`/${name}`, ...parameters.map((each) => each.name.toUpperCase())].join(' '),
    );
    this.#write(
      this.#paint('strong', `${this.#chat.trigger('desk').type}, on this machine only`),
      `The trigger is ${this.#chat.example}, its agent examples/agents/desk.yaml.`,
      `See the actors at work: ${url}/inspector`,
      `Say hello, or ${command.join(', ')}. /help lists the rest.`,
      '',
    );
    this.#prompt();
  }

  async #read(signal: AbortSignal): Promise<void> {
    const lines: AsyncIterator<string> = this.#input[Symbol.asyncIterator]();
    const aborted = new Promise<undefined>((done) => {
      signal.addEventListener('abort', () => done(undefined));
      if (signal.aborted) done(undefined);
    });
    for (;;) {
      const next = await Promise.race([lines.next(), aborted]);
      if (next === undefined || next.done) return;
      if (!this.#isTyped) this.#write(`${this.#name()}> ${next.value}`);
      const what = parseLine(next.value, {
        commands: this.#gateway.commands,
        choices: this.#choices(),
        hasGroups: this.#chat.hasGroups,
      });
      if (what.do === 'quit') return;
      await this.#handle(what, signal);
      this.#prompt();
    }
  }

  async #handle(what: ParsedLine, signal: AbortSignal): Promise<void> {
    if (what.do === 'who') return this.#showPlace();
    if (what.do === 'help') return this.#help();
    if (what.do === 'complain') return this.#write(this.#paint('faint', what.why));
    if (what.do === 'place') {
      this.#place = what.name;
      this.#places.add(what.name);
      return this.#showPlace();
    }
    const before = this.#isTyped ? 0 : await this.#gateway.countAccepted();
    try {
      if (what.do === 'say') await this.#chat.say(this.#place, what.text);
      if (what.do === 'press') await this.#chat.press(this.#place, what.title);
      if (what.do === 'command') await this.#chat.command(this.#place, what.name, what.parameters);
    } catch (error) {
      return this.#write(this.#paint('bad', error instanceof Error ? error.message : String(error)));
    }
    if (!this.#isTyped && what.do !== 'nothing') await this.#waitForAnswer(before, signal);
  }

  /** Waits until the last input is accepted and no event is pending. */
  async #waitForAnswer(before: number, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + ANSWER_MS;
    while (!signal.aborted && performance.now() < deadline) {
      if ((await this.#gateway.countAccepted()) > before && (await this.#gateway.isIdle())) break;
      await pause(POLL_MS);
    }
    this.#draw();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#draw();
      await pause(POLL_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Prints new and changed messages. */
  #draw(): void {
    for (const place of this.#places) {
      for (const message of this.#chat.visibleMessages(place)) {
        const name = JSON.stringify([place, message.id]);
        const now = JSON.stringify(message);
        if (this.#drawn.get(name) === now) continue;
        this.#drawn.set(name, now);
        const otherPlace = place === this.#place ? undefined : place;
        const columns = columnsOf(process.stdout);
        this.#write(...drawn(message, { paint: this.#paint, columns, place: otherPlace }));
      }
    }
  }

  /** Buttons of the newest message that has any. */
  #choices(): readonly string[] {
    return (
      this.#chat.visibleMessages(this.#place).findLast(({ choices }) => choices.length > 0)?.choices ?? []
    );
  }

  #showPlace(): void {
    const others = [...this.#places].filter((place) => place !== this.#place);
    this.#write(
      `You are ${this.#name()}, ${this.#place.startsWith('#') ? `in ${this.#place}` : 'alone with the bot'}.`,
      ...(others.length === 0 ? [] : [`Other places: ${others.join(', ')}`]),
    );
  }

  #help(): void {
    const { commands: ofTrigger, builtIn } = this.#gateway;
    const commands = [...ofTrigger, ...builtIn].map(([name, { description = '', parameters = [] }]) => [
      [`/${name}`, ...parameters.map((each) => each.name.toUpperCase())].join(' '),
      description,
    ]);
    const rows = [
      ...commands,
      ['#2, or its title', 'press a button'],
      ['/who', 'show your name and place'],
      [
        '/place NAME',
        this.#chat.hasGroups === false
          ? 'switch to another person'
          : 'switch to another person or group: /place #team is a group',
      ],
      ['/quit', 'or Ctrl-C'],
      ['anything else', 'send as a message'],
    ];
    const width = Math.max(...rows.map(([typing = '']) => typing.length));
    this.#write(...rows.map(([typing = '', meaning]) => `  ${typing.padEnd(width)}  ${meaning}`));
  }

  #name(): string {
    return this.#chat.personIn(this.#place);
  }

  #completed(line: string): [string[], string] {
    const { commands, builtIn } = this.#gateway;
    const all = [...commands.keys(), ...builtIn.keys(), 'who', 'place', 'help', 'quit'].map(
      (name) => `/${name} `,
    );
    return [all.filter((name) => name.startsWith(line)), line];
  }

  #prompt(): void {
    if (!this.#isTyped || this.#signal.aborted) return;
    const place = this.#place.startsWith('#') ? ` ${this.#place}` : '';
    this.#input.setPrompt(`${this.#name()}${place}> `);
    this.#input.prompt(true);
  }

  /** Prints above the input line. */
  #write(...lines: readonly string[]): void {
    const text = `${lines.join('\n')}\n`;
    if (!this.#isTyped) return void process.stdout.write(text);
    process.stdout.write(`\r\u001b[K${text}`);
    this.#input.prompt(true);
  }
}
