// The events of a run as server-sent events, for one client. It goes on where the run waits, and its client may leave at any time: the
// run does not. Whoever comes back is told all of it again, from the journal.
//
// RST1  nothing is read or kept for a client that does not take what it was told.

import type { RunEvent, RunReader, RunWatch } from '../../../actors/agents/runs/run-watch.ts';
import { StoppedError } from '../../../actors/base/errors/errors.ts';
import type { HttpStream } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { Heartbeat } from '../mcp/heartbeat.ts';
import type { RecordView } from './record-view.ts';
import type { ApprovalEvent, RetryEvent, TextEvent, ToolEvent } from './run-events.ts';
import { answerRecord, runRecord, stepRecord } from './run-records.ts';
import type { RunRecord, StepRecord } from './run-shapes.ts';

const HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
] as const;

/** Answers with the events of what `open` opens, which is given whoever reads them. Rejects as that does, and then nothing was answered. */
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
  stream?.whenGone(() => watch.close());
}

class RunStream implements RunReader {
  readonly #http: HttpStream;
  readonly #heartbeat: Heartbeat;
  readonly #view: RecordView;
  readonly #onBeat = { heartbeat: () => void this.#http.write(': \n\n') };
  #isGone = false;
  #whenGone: (() => void) | undefined;
  #whenRoom: (() => void) | undefined;

  constructor(context: ExchangeContext, heartbeat: Heartbeat, view: RecordView) {
    this.#heartbeat = heartbeat;
    this.#view = view;
    this.#http = context.reply.stream(200, context.headers(HEADERS));
    context.reply.onAbort(() => this.#leave());
    this.#http.onDrain(() => this.#goOn());
    heartbeat.streams.add(this.#onBeat);
  }

  /** Calls it when the client has gone, and at once where it has. */
  whenGone(listener: () => void): void {
    this.#whenGone = listener;
    if (this.#isGone) listener();
  }

  tell(event: RunEvent): Promise<void> | undefined {
    if (this.#isGone) return undefined;
    const hasRoom = this.#http.write(
      `event: ${event.event}\ndata: ${JSON.stringify(dataOf(event, this.#view))}\n\n`,
    );
    if (hasRoom || this.#isGone) return undefined;
    return new Promise((resolve) => {
      this.#whenRoom = resolve;
    });
  }

  end(error?: unknown): void {
    if (this.#isGone) return;
    this.#leave();
    // A stream without an end is one that was cut: its client comes back.
    if (error === undefined || error instanceof StoppedError) this.#http.end();
    else this.#http.destroy();
  }

  #leave(): void {
    this.#isGone = true;
    this.#heartbeat.streams.delete(this.#onBeat);
    this.#goOn();
    this.#whenGone?.();
  }

  #goOn(): void {
    const go = this.#whenRoom;
    this.#whenRoom = undefined;
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
      const { part, call, tool, arguments: given, result, state = 'called', took_ms } = step;
      return { part, call, name: tool, arguments: given, state, result, took_ms };
    }
    case 'part':
      return stepRecord(event.step);
    case 'approval':
      return { id: event.id, state: event.state, by: event.by, ...event.asked };
    case 'retry':
      return { reason: event.reason, in_ms: event.inMs };
    case 'end':
      return answerRecord(event.answer, view);
  }
}
