// Fleet handler: runs attempts with the definition from the start of the run. Changes of the file apply
// to new runs only.

import { randomBytes } from 'node:crypto';
import type { Fleet, FleetMember } from '../../../config/resources/fleets/fleet.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { PartsJournal } from '../parts/journal.ts';
import { type FleetRow, FleetRun } from './run.ts';

export interface FleetServices {
  /** Returns undefined for a missing agent. */
  handlerOf(member: FleetMember): Handler | undefined;
  /** Parses a stored definition of the fleet. Rejects with ConfigError. */
  readDefinition(text: string, fleet: Pick<Fleet, 'name' | 'file'>): Promise<Fleet>;
  /** First pause between requests to a member, in milliseconds. @default 1000 */
  readonly firstPauseMs?: number;
}

const NONCE_BYTES = 9;

export class FleetHandler implements Handler {
  readonly #fleet: Fleet;
  readonly #services: FleetServices;

  constructor(fleet: Fleet, services: FleetServices) {
    this.#fleet = fleet;
    this.#services = services;
  }

  async run(job: Job, context: HandlerContext): Promise<AgentReply | Parked> {
    const { name } = this.#fleet;
    const journal = await PartsJournal.open({ kind: 'fleet', name, context });
    const storedRow = journal.rows.find((row) => row.kind === 'fleet' && row.in === undefined);
    const firstRow = (storedRow as unknown as FleetRow | undefined) ?? this.#begin(job, journal);
    const fleet = await this.#definitionOf(firstRow);
    const handlerOf = (member: FleetMember) => this.#services.handlerOf(member);
    const { firstPauseMs } = this.#services;
    const pause = firstPauseMs === undefined ? {} : { firstPauseMs };
    return new FleetRun({ fleet, firstRow, job, context, journal, handlerOf, ...pause }).work();
  }

  #begin({ input }: Job, journal: PartsJournal): FleetRow {
    const { name, definition } = this.#fleet;
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const row: FleetRow = { kind: 'fleet', name, nonce, definition, input };
    journal.add(row);
    return row;
  }

  async #definitionOf({ definition }: FleetRow): Promise<Fleet> {
    if (definition === this.#fleet.definition) return this.#fleet;
    const { name } = this.#fleet;
    try {
      return await this.#services.readDefinition(definition, this.#fleet);
    } catch (error) {
      throw new HandlerError(
        `fleet ${name} cannot use the definition that the run began with: ${(error as Error).message}; fix the cause and retry the run, or replay it to start over`,
        { isFinal: true, cause: error },
      );
    }
  }
}
