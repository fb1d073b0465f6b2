// Sends a run's events to a client, as server-sent events. A disconnect does not affect the run; after a
// reconnect the client gets all events again, from the journal. If the client does not read, no events are
// read from the journal, so none are buffered.

import type { RunEvent, RunReader, RunWatch } from '../../../actors/agents/runs/watch.ts';
import { StoppedError } from '../../../actors/base/errors/errors.ts';
import { escapeHidden } from '../../../actors/base/errors/hidden-characters.ts';
import type { HttpStream } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { Heartbeat } from '../mcp/heartbeat.ts';
import type { RecordView } from './record-view.ts';
import type { ApprovalEvent, RetryEvent, TextEvent, ToolEvent } from './run-events.ts';
import { runRecord, runResultRecord, stepRecord } from './run-records.ts';
import type { RunRecord, StepRecord } from './run-shapes.ts';

const HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
] as const;

/**
 * Responds with a stream of events. `open` opens the watch that reads the events. Rejects like `open`, before
 * responding.
 */
export async function streamRun(
  context: ExchangeContext,
  heartbeat: Heartbeat,
  view: RecordView,
  open: (begin: () => RunReader) => Promise<RunWatch>,
): Promise<void> {
  let stream: RunStream | undefined;
  const watch = await open(() => {
    stream = new RunStream(context, heartbeat, view);
    return stream;
  });
  stream?.onClose(() => watch.close());
}

class RunStream implements RunReader {
  readonly #http: HttpStream;
  readonly #heartbeat: Heartbeat;
  readonly #view: RecordView;
  readonly #onBeat = { heartbeat: () => void this.#http.write(': \n\n') };
  #isClosed = false;
  #onClose: (() => void) | undefined;
  #resume: (() => void) | undefined;

  constructor(context: ExchangeContext, heartbeat: Heartbeat, view: RecordView) {
    this.#heartbeat = heartbeat;
    this.#view = view;
    this.#http = context.reply.stream(200, context.headers(HEADERS));
    context.reply.onAbort(() => this.#close());
    this.#http.onDrain(() => this.#flush());
    heartbeat.streams.add(this.#onBeat);
  }

  /** Calls the listener when the client disconnects; immediately after a disconnect. */
  onClose(listener: () => void): void {
    this.#onClose = listener;
    if (this.#isClosed) listener();
  }

  send(event: RunEvent): Promise<void> | undefined {
    if (this.#isClosed) return undefined;
    const json = JSON.stringify(dataOf(event, this.#view));
    const data = event.event === 'approval' ? escapeHidden(json) : json;
    const isWritable = this.#http.write(`event: ${event.event}\ndata: ${data}\n\n`);
    if (isWritable || this.#isClosed) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  end(error?: unknown): void {
    if (this.#isClosed) return;
    this.#close();
    // If the event `end` is missing, a client reconnects.
    if (error === undefined || error instanceof StoppedError) this.#http.end();
    else this.#http.destroy();
  }

  #close(): void {
    this.#isClosed = true;
    this.#heartbeat.streams.delete(this.#onBeat);
    this.#flush();
    this.#onClose?.();
  }

  #flush(): void {
    const go = this.#resume;
    this.#resume = undefined;
    go?.();
  }
}

type EventData = RunRecord | StepRecord | TextEvent | ToolEvent | ApprovalEvent | RetryEvent;

function dataOf(event: RunEvent, view: RecordView): EventData {
  switch (event.event) {
    case 'run':
    case 'state':
      return runRecord(event.run, view);
    case 'text':
      return 'delta' in event ? { delta: event.delta } : { text: event.text, part: event.part };
    case 'tool': {
      const step = stepRecord(event.step);
      const { part, call, tool, arguments: argumentText, result, state = 'called', took_ms } = step;
      return { part, call, name: tool, arguments: argumentText, state, result, took_ms };
    }
    case 'part':
      return stepRecord(event.step);
    case 'approval':
      return { id: event.id, state: event.state, by: event.by, ...event.asked };
    case 'retry':
      return { reason: event.reason, in_ms: event.inMs };
    case 'end':
      return runResultRecord(event.answer, view);
  }
}
