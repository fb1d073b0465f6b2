// Alarm for configuration files with which the gateway would not start. A refused reload raises the alarm.
// Afterwards the files are checked periodically, to clear the alarm even if no reload is requested.

import type { Alarms } from '../actors/base/alarms/alarms.ts';
import { formatProblem, isError, type Problem } from '../config/reader/problem.ts';

const CHECK_EVERY_MS = 10_000;

export interface ConfigurationAlarmOptions {
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  /** Reads all files and returns their problems, without applying anything. */
  problems(): Promise<readonly Problem[]>;
}

export class ConfigurationAlarm {
  readonly #options: ConfigurationAlarmOptions;
  #problems: readonly Problem[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConfigurationAlarmOptions) {
    this.#options = options;
  }

  /** Updates the alarm to the problems of the files. */
  update(problems: readonly Problem[]): void {
    this.#problems = problems;
    const [first, ...others] = problems.filter(isError);
    clearTimeout(this.#timer);
    if (first === undefined) {
      this.#options.alarms.clear('configuration_invalid');
      return;
    }
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    this.#options.alarms.raise(
      'configuration_invalid',
      `the previous configuration stays in use, and a restart would fail: ${formatProblem(first)}${more}; correct the files, then reload`,
    );
    this.#timer = setTimeout(() => void this.#check(), CHECK_EVERY_MS).unref();
  }

  async #check(): Promise<void> {
    const before = this.#problems;
    // An unexpected error keeps the alarm until the next check.
    const problems = await this.#options.problems().catch(() => before);
    // A reload during the check has updated the alarm with newer files.
    if (this.#problems === before) this.update(problems);
  }
}
