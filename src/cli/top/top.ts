// `top`: looks at a running gateway every few seconds and shows what it sees; on a terminal as a window that is drawn
// again, elsewhere as one frame after the other. A gateway that goes away is waited for.

import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import { isTerminal, paintFor } from '../../terminal/paint.ts';
import { ApiClient, ApiProblem } from '../api/api-client.ts';
import { declareTarget, readTarget, type TargetOptions } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { seconds } from '../option-values.ts';
import { print } from '../views/output.ts';
import { Screen } from './screen.ts';
import { topFrame } from './top-frame.ts';
import { type Order, orderAfter, orderNames } from './top-order.ts';
import { type Sample, takeSample } from './top-sample.ts';

const TIMEOUT_SECONDS = 5;
/** So long a restart is worth a note. */
const RESTART_NOTE_SECONDS = 60;
const KEYS = 's: next order, q: quit';

interface Options extends TargetOptions {
  readonly interval: number;
  readonly once?: boolean;
  readonly sort: Order;
}

export const top: CommandModule = {
  declare: (command) => {
    command
      .description(
        `${command.description()} Keys: ${KEYS}. Without a terminal it prints one frame after the other.`,
      )
      .option('--interval <seconds>', 'time between two frames', seconds(0.2, 3600), 2)
      .option('--once', 'print one frame and end')
      .addOption(
        new Option('--sort <order>', 'order of the servers').choices(orderNames).default('activity'),
      );
    declareTarget(command, TIMEOUT_SECONDS);
  },
  run: (command) => watched(command.opts<Options>()),
};

/** Rejects with an ApiProblem if there is nothing to watch. */
async function watched(options: Options): Promise<number> {
  const client = new ApiClient(await readTarget(options, process.env));
  const timeoutMs = (options.timeout ?? TIMEOUT_SECONDS) * 1000;
  const isLive = options.once !== true && isTerminal(process.stdout, process.env);
  const watch = new Watch(client, options.sort, timeoutMs);
  return isLive ? onScreen(watch, options.interval) : inTurn(watch, options);
}

/** What was seen so far, and the frame it makes. */
class Watch {
  readonly #client: ApiClient;
  readonly #timeoutMs: number;
  #now: Sample | undefined;
  #before: Sample | undefined;
  #lost: { readonly since: number; readonly reason: string } | undefined;
  #hasRestarted = false;
  order: Order;

  constructor(client: ApiClient, order: Order, timeoutMs: number) {
    this.#client = client;
    this.order = order;
    this.#timeoutMs = timeoutMs;
  }

  /** Rejects with an ApiProblem that time will not mend, or at the very first look. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      const sample = await takeSample(this.#client, this.#timeoutMs, signal);
      const past = this.#now?.stats.uptime_seconds;
      const isAnother = past !== undefined && sample.stats.uptime_seconds < past;
      this.#hasRestarted ||= isAnother;
      this.#before = isAnother ? undefined : this.#now;
      this.#now = sample;
      this.#lost = undefined;
    } catch (error) {
      if (!(error instanceof ApiProblem) || !error.isPassing || this.#now === undefined) throw error;
      this.#lost = { since: this.#lost?.since ?? this.#now.at, reason: error.message };
    }
  }

  frame(size: { readonly height: number; readonly width: number } | undefined): string[] {
    if (this.#now === undefined) return [];
    const lost = this.#lost;
    return topFrame(this.#now, this.#before, {
      address: this.#client.address,
      order: this.order,
      paint: paintFor(process.stdout, process.env),
      height: size?.height,
      width: size?.width,
      lost: lost && { seconds: (performance.now() - lost.since) / 1000, reason: lost.reason },
      hasRestarted: this.#hasRestarted && this.#now.stats.uptime_seconds < RESTART_NOTE_SECONDS,
      keys: size === undefined || !process.stdin.isTTY ? '' : KEYS,
    });
  }
}

async function onScreen(watch: Watch, intervalSeconds: number): Promise<number> {
  const ended = new AbortController();
  // The first look comes before the window: what is wrong with it is told on the ordinary screen.
  await watch.look(ended.signal);
  const screen = new Screen({
    onKey: (key) => {
      if (key === 'q') ended.abort();
      if (key !== 's') return;
      watch.order = orderAfter(watch.order);
      draw();
    },
    onRedraw: () => draw(),
    onEnd: () => ended.abort(),
  });
  const draw = () => screen.draw(watch.frame({ height: screen.height, width: screen.width }));
  try {
    while (!ended.signal.aborted) {
      draw();
      await sleep(intervalSeconds * 1000, undefined, { signal: ended.signal });
      await watch.look(ended.signal);
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    screen.leave();
  }
  return 0;
}

async function inTurn(watch: Watch, { once, interval }: Options): Promise<number> {
  const { signal } = new AbortController();
  for (;;) {
    await watch.look(signal);
    const isRead = await print(`${watch.frame(undefined).join('\n')}\n${once === true ? '' : '\n'}`);
    if (once === true || !isRead) return 0;
    await sleep(interval * 1000);
  }
}
