// All open streams of /inspector/feed and /inspector/stately. A page receives the actor tree. Then it
// receives frames (messages with new events, up to ten per second), and every second numbers (counters of
// servers and triggers). Without viewers no actor is inspected and no timer runs.

import type { AnyActorRef } from 'xstate';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import { alarmRecords } from '../../http/api/alarm-records.ts';
import type { AutomationFigures } from '../../http/api/automation-figures.ts';
import { nodesAnswer } from '../../http/api/nodes-answer.ts';
import { RecordView } from '../../http/api/record-view.ts';
import { triggerState } from '../../http/api/trigger-state.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { NumbersMessage, Totals, TreeMessage } from '../wire/feed.ts';
import { ActorFeed } from './actor-feed.ts';
import { ActorNames } from './actor-names.ts';
import { numbersOf, trackServers } from './server-numbers.ts';
import { streamStately } from './stately-stream.ts';
import { automationTotals, trackTriggers } from './trigger-numbers.ts';
import { eventText, Viewer } from './viewer.ts';

/** Interval of the numbers. */
const TICK_MS = 1_000;
const HEARTBEAT_TICKS = 15;
/** Timeout of the store, after which the page shows that the store does not respond. */
const STORE_TIMEOUT_MS = 2_000;

type WatchedGateway = Pick<
  GatewayRuntime,
  'config' | 'alarms' | 'redactor' | 'version' | 'life' | 'mcp' | 'node'
>;

export class Watchers {
  readonly #gateway: WatchedGateway;
  readonly #root: AnyActorRef;
  readonly #figures: AutomationFigures | undefined;
  readonly #names: ActorNames;
  readonly #feed: ActorFeed;
  readonly #viewers = new Set<Viewer>();
  /** Streams of @statelyai/inspect. */
  readonly #statelyStreams = new Set<{ end(): void; stop(): void }>();
  readonly #servers: ReturnType<typeof trackServers>;
  readonly #triggers: ReturnType<typeof trackTriggers>;
  readonly #view: RecordView;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  /** Number of actors that the feed had omitted at the last tick. */
  #lastUnseen = 0;

  /** `figures` is undefined without triggers. */
  constructor(gateway: WatchedGateway, root: AnyActorRef, figures?: AutomationFigures) {
    this.#gateway = gateway;
    this.#root = root;
    this.#figures = figures;
    this.#names = new ActorNames(gateway.redactor);
    this.#feed = new ActorFeed(root, this.#names);
    this.#servers = trackServers(gateway.redactor);
    this.#view = new RecordView(gateway.redactor);
    this.#triggers = trackTriggers(this.#view);
  }

  /** Streams to a page. Returns a function that stops it; call it when the page disconnects. */
  watch(stream: HttpStream): () => void {
    // Start before the tree is read, so that no event is lost in between.
    this.#start();
    const viewer = new Viewer(stream, (missedMessages) => this.#completeState(missedMessages));
    this.#viewers.add(viewer);
    viewer.sendComplete();
    return () => {
      this.#viewers.delete(viewer);
      if (this.#viewers.size === 0) this.#stop();
    };
  }

  /** Streams to a viewer of @statelyai/inspect. Returns a function that stops it. */
  streamToTool(stream: HttpStream): () => void {
    const stop = streamStately(this.#root, this.#names, stream);
    const statelyStream = { end: () => stream.end(), stop };
    this.#statelyStreams.add(statelyStream);
    return () => {
      stop();
      this.#statelyStreams.delete(statelyStream);
    };
  }

  /** Sends a last message and closes the streams. */
  close(): void {
    const noChanges = { servers: [], gone: [], triggers: [], gone_triggers: [] };
    const lastMessage: NumbersMessage = { ...this.#totals(), is_draining: true, ...noChanges };
    for (const viewer of this.#viewers) {
      viewer.send(eventText('numbers', lastMessage));
      viewer.end();
    }
    this.#viewers.clear();
    for (const { end, stop } of this.#statelyStreams) {
      stop();
      end();
    }
    this.#statelyStreams.clear();
    this.#stop();
  }

  #start(): void {
    void this.#figures?.deliveries(STORE_TIMEOUT_MS);
    this.#unwatch ??= this.#feed.watch((frame) => {
      const message = eventText('frame', frame);
      for (const viewer of this.#viewers) viewer.send(message);
    });
    this.#timer ??= setInterval(() => this.#onTick(), TICK_MS).unref();
  }

  #stop(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #onTick(): void {
    const servers = this.#servers.takeChanges(this.#gateway.mcp.servers.all());
    const triggers = this.#triggers.takeChanges(this.#figures?.triggers() ?? []);
    const numbers: NumbersMessage = {
      ...this.#totals(),
      servers: servers.changed,
      gone: servers.removed,
      triggers: triggers.changed,
      gone_triggers: triggers.removed,
    };
    // Requests the counts for the next tick, so that no message waits for the store.
    void this.#figures?.deliveries(STORE_TIMEOUT_MS);
    const message = eventText('numbers', numbers);
    this.#ticks += 1;
    const isIncomplete = this.#feed.unseen > this.#lastUnseen;
    this.#lastUnseen = this.#feed.unseen;
    for (const viewer of this.#viewers) {
      viewer.send(message);
      // A frame that omits actors does not report the end of an omitted actor. Only the complete state
      // removes this actor from the page (AF3, actor-feed.ts).
      if (isIncomplete) viewer.sendComplete();
      if (this.#ticks % HEARTBEAT_TICKS === 0) viewer.heartbeat();
    }
  }

  /** Returns the messages with the complete tree and all numbers. */
  #completeState(missedMessages: number): string {
    const started_at = this.#gateway.life.startTime.at;
    const tree: TreeMessage = { ...this.#feed.tree(), started_at, missed: missedMessages };
    const { redactor } = this.#gateway;
    const servers = this.#gateway.mcp.servers.all().map((server) => numbersOf(server, redactor));
    const triggers = (this.#figures?.triggers() ?? []).map((status) => triggerState(status, this.#view));
    const rows = { servers, gone: [], triggers, gone_triggers: [] };
    const numbers: NumbersMessage = { ...this.#totals(), ...rows };
    // The next tick sends all rows, because these rows may be newer than the tracked ones (changed-rows.ts).
    this.#servers.invalidate();
    this.#triggers.invalidate();
    return eventText('tree', tree) + eventText('numbers', numbers);
  }

  #totals(): Totals {
    const { config, alarms, redactor, life, mcp, node, version } = this.#gateway;
    const { router, sessions } = mcp.clients;
    return {
      at: Date.now(),
      version,
      started_at: life.startTime.at,
      is_draining: life.isEnding,
      alarms: alarmRecords(alarms, redactor),
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
