// A fleet behind the seam of handlers: a run goes on with the definition that it began with.

import { randomBytes } from 'node:crypto';
import type { Fleet, FleetMember } from '../../../config/resources/fleets/fleet.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { PartsJournal } from '../parts/parts-journal.ts';
import { type FleetRow, FleetRun } from './fleet-run.ts';

export interface FleetServices {
  /** Undefined for an agent that is not there. */
  handlerOf(member: FleetMember): Handler | undefined;
  /** What a definition says, of the fleet in that file. Rejects with ConfigError. */
  readDefinition(text: string, fleet: Pick<Fleet, 'name' | 'file'>): Promise<Fleet>;
  /** As in fleet-run.ts. */
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
    const before = journal.rows.find((row) => row.kind === 'fleet' && row.in === undefined);
    const begun = (before as unknown as FleetRow | undefined) ?? this.#begin(job, journal);
    const fleet = await this.#definitionOf(begun);
    const handlerOf = (member: FleetMember) => this.#services.handlerOf(member);
    const { firstPauseMs } = this.#services;
    const pause = firstPauseMs === undefined ? {} : { firstPauseMs };
    return new FleetRun({ fleet, begun, job, context, journal, handlerOf, ...pause }).work();
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
        `fleet ${name} cannot go on by the definition that the run began with: ${(error as Error).message}; mend that and retry the run, or replay it to begin anew`,
        { isFinal: true, cause: error },
      );
    }
  }
}
