// `top`: polls a running gateway and prints frames; on a terminal, it redraws the window. If the gateway
// stops responding, it shows the last values and keeps retrying.

import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import { isTerminal, paintFor } from '../../terminal/paint.ts';
import { ApiClient, ApiProblem } from '../api/client.ts';
import { declareTarget, readTarget, type TargetOptions } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { secondsParser } from '../option-values.ts';
import { print } from '../views/output.ts';
import { topFrame } from './frame.ts';
import { type Order, orderAfter, orderNames } from './order.ts';
import { type GatewaySample, takeSample } from './sample.ts';
import { Screen } from './screen.ts';

const TIMEOUT_SECONDS = 5;
/** Time for which the frame reports a restart of the gateway. */
const RESTART_NOTE_SECONDS = 60;
const KEYS = 's: next order, q: quit';

interface Options extends TargetOptions {
  readonly interval: number;
  readonly once?: boolean;
  readonly sort: Order;
}

export const top: CommandModule = {
  examples: ['actor-gateway top --sort latency', 'actor-gateway top --once'],
  declare: (command) => {
    command
      .description(
        `${command.description()} Keys: ${KEYS}. Without a terminal it prints one frame after the other.`,
      )
      .option('--interval <seconds>', 'time between two frames', secondsParser(0.2, 3600), 2)
      .option('--once', 'print one frame and exit')
      .addOption(
        new Option('--sort <order>', 'order of the servers').choices(orderNames).default('activity'),
      );
    declareTarget(command, TIMEOUT_SECONDS);
  },
  run: (command) => runTop(command.opts<Options>()),
};

/** Runs the command. Rejects with an ApiProblem if the gateway does not respond to the first request. */
async function runTop(options: Options): Promise<number> {
  const client = new ApiClient(await readTarget(options, process.env));
  const timeoutMs = (options.timeout ?? TIMEOUT_SECONDS) * 1000;
  const isLive = options.once !== true && isTerminal(process.stdout, process.env);
  const watch = new SampleHistory(client, options.sort, timeoutMs);
  return isLive ? runOnScreen(watch, options.interval) : printFrames(watch, options);
}

/** The last two samples. Creates the frame that shows them. */
class SampleHistory {
  readonly #client: ApiClient;
  readonly #timeoutMs: number;
  #now: GatewaySample | undefined;
  #before: GatewaySample | undefined;
  #lost: { readonly since: number; readonly reason: string } | undefined;
  #hasRestarted = false;
  order: Order;

  constructor(client: ApiClient, order: Order, timeoutMs: number) {
    this.#client = client;
    this.order = order;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Takes a sample. After the first sample, tolerates transient failures; rejects with an ApiProblem for
   * others.
   */
  async poll(signal: AbortSignal): Promise<void> {
    try {
      const sample = await takeSample(this.#client, this.#timeoutMs, signal);
      const previousUptime = this.#now?.stats.uptime_seconds;
      const isRestarted = previousUptime !== undefined && sample.stats.uptime_seconds < previousUptime;
      this.#hasRestarted ||= isRestarted;
      this.#before = isRestarted ? undefined : this.#now;
      this.#now = sample;
      this.#lost = undefined;
    } catch (error) {
      if (!(error instanceof ApiProblem) || !error.isTransient || this.#now === undefined) throw error;
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

async function runOnScreen(watch: SampleHistory, intervalSeconds: number): Promise<number> {
  const stopped = new AbortController();
  // Before the window opens, so that an error stays visible.
  await watch.poll(stopped.signal);
  const screen = new Screen({
    onKey: (key) => {
      if (key === 'q') stopped.abort();
      if (key !== 's') return;
      watch.order = orderAfter(watch.order);
      draw();
    },
    onRedraw: () => draw(),
    onEnd: () => stopped.abort(),
  });
  const draw = () => screen.draw(watch.frame({ height: screen.height, width: screen.width }));
  try {
    while (!stopped.signal.aborted) {
      draw();
      await sleep(intervalSeconds * 1000, undefined, { signal: stopped.signal });
      await watch.poll(stopped.signal);
    }
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  } finally {
    screen.close();
  }
  return 0;
}

async function printFrames(watch: SampleHistory, { once, interval }: Options): Promise<number> {
  const { signal } = new AbortController();
  for (;;) {
    await watch.poll(signal);
    const isRead = await print(`${watch.frame(undefined).join('\n')}\n${once === true ? '' : '\n'}`);
    if (once === true || !isRead) return 0;
    await sleep(interval * 1000);
  }
}
