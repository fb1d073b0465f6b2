// What is done to the gateway: kills, stops, stalls, steps of its clock, full disks, reloads, killed servers, a host with
// moods. One after the other, by chance, with pauses between in which it must be at its best.

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

  /** `without`: names of faults that are left out. */
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

  async run() {
    const faults = [
      [4, 'kill', () => this.#kill()],
      [2, 'storm of kills', () => this.#storm()],
      [3, 'stop', () => this.#stop()],
      [2, 'stall', () => this.#gateway.stall(this.#chance.between(300, 4_000))],
      [3, 'step of the clock', () => this.#step()],
      ...(this.#world.hasDisk ? [[3, 'full disk', () => this.#fullDisk()]] : []),
      [4, 'reload', () => this.#reload()],
      [3, 'killed server', () => this.#killServer()],
      [4, 'mood of the host', () => this.#mood()],
    ];
    const choices = faults
      .filter(([, name]) => !this.#without.includes(name))
      .map(([weight, ...fault]) => [weight, fault]);
    if (choices.length === 0) return;
    while (!this.#signal.aborted) {
      await sleep(this.#chance.between(500, 12_000), undefined, { signal: this.#signal }).catch(() => {});
      if (this.#signal.aborted) return;
      const [name, act] = this.#chance.weighted(choices);
      await this.#journal.disturbing(name, act);
    }
  }

  async #kill() {
    await this.#gateway.kill();
    await sleep(this.#chance.between(0, 500));
    await this.#gateway.start();
  }

  /** Kills that leave no time for anything, as where a supervisor restarts at once. */
  async #storm() {
    await this.#gateway.kill();
    for (let left = this.#chance.between(2, 6); left > 0; left -= 1) {
      this.#gateway.launch();
      await sleep(this.#chance.between(50, 1_500));
      await this.#gateway.kill();
      this.#journal.count('kills in storms');
    }
    await this.#gateway.start();
  }

  async #stop() {
    await this.#gateway.stop();
    await this.#gateway.start();
  }

  async #step() {
    const ms = this.#chance.one([5_000, 60_000, 2 * HOUR_MS]) * this.#chance.one([-1, 1]);
    this.#world.stepClock(ms);
    // Some of them while it is away.
    if (this.#chance.is(0.3)) await this.#kill();
    else await sleep(300);
  }

  async #fullDisk() {
    this.#world.fillDisk();
    await sleep(this.#chance.between(500, 3_000));
    if (this.#chance.is(0.4)) {
      await this.#kill();
      this.#journal.count('starts on a full disk');
      await sleep(this.#chance.between(500, 3_000));
    }
    this.#world.freeDisk();
  }

  async #reload() {
    this.#world.change();
    const reloaded = await this.#operator.ask('/admin/reload', 'POST');
    if (reloaded === undefined)
      this.#journal.violate('a good configuration is reloaded', 'it was refused, or not answered');
  }

  /** Ends one of its children, as the kernel does that has no memory left. */
  async #killServer() {
    const children = childrenOf(this.#gateway.pid);
    if (children.length > 0) {
      try {
        process.kill(this.#chance.one(children), 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
  }

  async #mood() {
    const seconds = this.#chance.between(1, 6);
    const mood = this.#chance.one(['refuse', 'cut', 'pace']);
    if (mood === 'pace') this.#host.slowDown(seconds);
    else this.#host.mood = mood;
    await sleep(seconds * 1000);
    this.#host.mood = 'good';
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
