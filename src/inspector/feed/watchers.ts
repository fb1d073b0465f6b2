// Everybody who watches the gateway at the moment: the pages, which get tree, frames and numbers, and other tools.
//
// IN2  while nobody watches, no actor is inspected and no timer runs.

import type { AnyActorRef } from 'xstate';
import type { Gateway } from '../../../actors/gateway/gateway.ts';
import type { AutomationFigures } from '../../http/api/automation-figures.ts';
import { nodesAnswer } from '../../http/api/nodes-answer.ts';
import { RecordView } from '../../http/api/record-view.ts';
import { triggerState } from '../../http/api/trigger-state.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { NumbersMessage, Totals, TreeMessage } from '../wire/feed-wire.ts';
import { ActorFeed } from './actor-feed.ts';
import { ActorNames } from './actor-names.ts';
import { changedServers, numbersOf } from './server-numbers.ts';
import { tellStately } from './stately-stream.ts';
import { automationTotals, changedTriggers } from './trigger-numbers.ts';
import { eventText, Viewer } from './viewer.ts';

const PULSE_MS = 1_000;
const BEAT_PULSES = 15;
/** After so long without an answer of the store the page is told that there is none. */
const STORE_MS = 2_000;
/** One more is refused: a page that opens streams in a loop must not use up the listener (A8). */
const MAX_WATCHERS = 64;

type WatchedGateway = Pick<Gateway, 'config' | 'redactor' | 'version' | 'life' | 'mcp' | 'node'>;

export class Watchers {
  readonly #gateway: WatchedGateway;
  readonly #root: AnyActorRef;
  readonly #figures: AutomationFigures | undefined;
  readonly #names: ActorNames;
  readonly #feed: ActorFeed;
  readonly #viewers = new Set<Viewer>();
  /** Other tools than the page. */
  readonly #others = new Set<{ end(): void; silence(): void }>();
  readonly #servers: ReturnType<typeof changedServers>;
  readonly #triggers: ReturnType<typeof changedTriggers>;
  readonly #view: RecordView;
  #unwatch: (() => void) | undefined;
  #pulse: NodeJS.Timeout | undefined;
  #pulses = 0;
  /** How many actors the feed had no room for, at the last pulse. */
  #unseen = 0;

  /** `figures` where there are triggers. */
  constructor(gateway: WatchedGateway, root: AnyActorRef, figures?: AutomationFigures) {
    this.#gateway = gateway;
    this.#root = root;
    this.#figures = figures;
    this.#names = new ActorNames(gateway.redactor);
    this.#feed = new ActorFeed(root, this.#names);
    this.#servers = changedServers(gateway.redactor);
    this.#view = new RecordView(gateway.redactor);
    this.#triggers = changedTriggers(this.#view);
  }

  get isFull(): boolean {
    return this.#viewers.size + this.#others.size >= MAX_WATCHERS;
  }

  /** Tells a page everything from now on; to be called back when it has gone. */
  watch(stream: HttpStream): () => void {
    // Begun before the tree is read, so that nothing falls between the two.
    this.#rise();
    const viewer = new Viewer(stream, (missed) => this.#whole(missed));
    this.#viewers.add(viewer);
    viewer.sendWhole();
    return () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size === 0) this.#rest();
    };
  }

  /** The same for a tool that understands the messages of @statelyai/inspect. */
  tellOthers(stream: HttpStream): () => void {
    const silence = tellStately(this.#root, this.#names, stream);
    const other = { end: () => stream.end(), silence };
    this.#others.add(other);
    return () => {
      silence();
      this.#others.delete(other);
    };
  }

  /** Ends every stream, having said why. */
  close(): void {
    const nothingNew = { servers: [], gone: [], triggers: [], gone_triggers: [] };
    const farewell: NumbersMessage = { ...this.#totals(), is_draining: true, ...nothingNew };
    for (const viewer of this.#viewers) {
      viewer.send(eventText('numbers', farewell));
      viewer.end();
    }
    this.#viewers.clear();
    for (const { end, silence } of this.#others) {
      silence();
      end();
    }
    this.#others.clear();
    this.#rest();
  }

  #rise(): void {
    void this.#figures?.deliveries(STORE_MS);
    this.#unwatch ??= this.#feed.watch((frame) => {
      const message = eventText('frame', frame);
      for (const viewer of this.#viewers) viewer.send(message);
    });
    this.#pulse ??= setInterval(() => this.#onPulse(), PULSE_MS).unref();
  }

  #rest(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    clearInterval(this.#pulse);
    this.#pulse = undefined;
  }

  #onPulse(): void {
    const servers = this.#servers.take(this.#gateway.mcp.servers.all());
    const triggers = this.#triggers.take(this.#figures?.triggers() ?? []);
    const numbers: NumbersMessage = {
      ...this.#totals(),
      servers: servers.changed,
      gone: servers.gone,
      triggers: triggers.changed,
      gone_triggers: triggers.gone,
    };
    // For the next pulse: nothing here waits for the store.
    void this.#figures?.deliveries(STORE_MS);
    const message = eventText('numbers', numbers);
    this.#pulses += 1;
    const isIncomplete = this.#feed.unseen > this.#unseen;
    this.#unseen = this.#feed.unseen;
    for (const viewer of this.#viewers) {
      viewer.send(message);
      // Who had no room in a frame may have ended (AF3).
      if (isIncomplete) viewer.sendWhole();
      if (this.#pulses % BEAT_PULSES === 0) viewer.heartbeat();
    }
  }

  /** The tree and the numbers of every server. */
  #whole(missed: number): string {
    const tree: TreeMessage = { ...this.#feed.tree(), started_at: this.#gateway.life.startTime.at, missed };
    const { redactor } = this.#gateway;
    const servers = this.#gateway.mcp.servers.all().map((server) => numbersOf(server, redactor));
    const triggers = (this.#figures?.triggers() ?? []).map((status) => triggerState(status, this.#view));
    const rows = { servers, gone: [], triggers, gone_triggers: [] };
    const numbers: NumbersMessage = { ...this.#totals(), ...rows };
    this.#servers.forget();
    this.#triggers.forget();
    return eventText('tree', tree) + eventText('numbers', numbers);
  }

  #totals(): Totals {
    const { config, life, mcp, node, version } = this.#gateway;
    const { router, sessions } = mcp.clients;
    return {
      at: Date.now(),
      version,
      started_at: life.startTime.at,
      is_draining: life.isEnding,
      commands: config.inspector.commands,
      requests: { ...router.counts },
      sessions: sessions.size,
      listens: sessions.listens,
      dead_letters: life.deadLetters,
      viewers: this.#viewers.size,
      automation: this.#figures === undefined ? null : automationTotals(this.#figures),
      cluster: node.cluster === undefined ? null : { ...nodesAnswer(node), own: node.name },
    };
  }
}
