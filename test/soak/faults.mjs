// Disturbs the gateway: kills, stops, stalls, clock steps, full disks, reloads, killed servers, a failing
// repository host. The faults are random, one at a time, with pauses.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const HOUR_MS = 3_600_000;

export class Faults {
  #gateway;
  #world;
  #host;
  #operator;
  #journal;
  #chance;
  #signal;
  #without;

  /** `without` contains the names of omitted faults. */
  constructor({ gateway, world, host, operator, journal, chance, signal, without }) {
    this.#without = without;
    this.#gateway = gateway;
    this.#world = world;
    this.#host = host;
    this.#operator = operator;
    this.#journal = journal;
    this.#chance = chance;
    this.#signal = signal;
  }

  static #all = [
    [4, 'kill', (faults) => faults.#kill()],
    [2, 'several kills', (faults) => faults.#killSeveralTimes()],
    [3, 'stop', (faults) => faults.#stop()],
    [2, 'stall', (faults) => faults.#stall()],
    [3, 'step of the clock', (faults) => faults.#step()],
    [3, 'full disk', (faults) => faults.#fullDisk()],
    [4, 'reload', (faults) => faults.#reload()],
    [3, 'killed server', (faults) => faults.#killServer()],
    [4, 'failing host', (faults) => faults.#failHost()],
  ];
  static names = Faults.#all.map(([, name]) => name);

  async run() {
    const without = new Set(this.#without);
    if (!this.#world.disk.canFill) without.add('full disk');
    const choices = Faults.#all
      .filter(([, name]) => !without.has(name))
      .map(([weight, ...fault]) => [weight, fault]);
    if (choices.length === 0) return;
    while (!this.#signal.aborted) {
      await sleep(this.#chance.between(500, 12_000), undefined, { signal: this.#signal }).catch(() => {});
      if (this.#signal.aborted) return;
      const [name, act] = this.#chance.weighted(choices);
      await this.#journal.disturbing(name, () => act(this));
    }
  }

  async #kill() {
    await this.#gateway.kill();
    await sleep(this.#chance.between(0, 500));
    await this.#gateway.start();
  }

  /** Kills the gateway several times during the start, like restarts by a supervisor. */
  async #killSeveralTimes() {
    await this.#gateway.kill();
    for (let left = this.#chance.between(2, 6); left > 0; left -= 1) {
      this.#gateway.launch();
      await sleep(this.#chance.between(50, 1_500));
      await this.#gateway.kill();
      this.#journal.count('kills in a row');
    }
    await this.#gateway.start();
  }

  async #stop() {
    await this.#gateway.stop();
    await this.#gateway.start();
  }

  #stall() {
    return this.#gateway.stall(this.#chance.between(300, 4_000));
  }

  async #step() {
    const ms = this.#chance.one([5_000, 60_000, 2 * HOUR_MS]) * this.#chance.one([-1, 1]);
    this.#world.stepClock(ms);
    if (this.#chance.is(0.3)) await this.#kill();
    else await sleep(300);
  }

  async #fullDisk() {
    this.#world.disk.fill();
    await sleep(this.#chance.between(500, 3_000));
    if (this.#chance.is(0.4)) {
      await this.#kill();
      this.#journal.count('starts on a full disk');
      await sleep(this.#chance.between(500, 3_000));
    }
    this.#world.disk.free();
  }

  async #reload() {
    this.#world.change();
    const reloaded = await this.#operator.post('/admin/reload');
    if (reloaded === undefined)
      this.#journal.violate('a valid configuration is reloaded', 'rejected, or no response');
  }

  /** Kills a child process of the gateway, like the kernel if memory is exhausted. */
  async #killServer() {
    const children = childrenOf(this.#gateway.pid);
    if (children.length > 0) {
      try {
        process.kill(this.#chance.one(children), 'SIGKILL');
      } catch {
        // The process has exited.
      }
    }
  }

  async #failHost() {
    const seconds = this.#chance.between(1, 6);
    const failure = this.#chance.one(['refuse', 'cut', 'pace']);
    if (failure === 'pace') this.#host.slowDown(seconds);
    else this.#host.failure = failure;
    await sleep(seconds * 1000);
    this.#host.failure = 'none';
  }
}

function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}
