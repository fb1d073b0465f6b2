// Streams the actor tree to viewers of @statelyai/inspect (0.7), as messages `@xstate.actor`, `@xstate.event`
// and `@xstate.snapshot`. Enabled by `inspector.stately`. Messages contain event types, status and state
// values, but no contexts, outputs or payloads (AF2, actor-feed.ts). If the reader is slow, messages are
// dropped (VW1, viewer.ts).

import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ActorNames } from './actor-names.ts';
import { stateOf, treeOf } from './actor-tree.ts';

/** Format version, as written by the package. */
const VERSION = '0.7.2';
/** Unread bytes above which messages are dropped. */
const MAX_BUFFERED = 1024 * 1024;

/** Sends all current actors, then new events. Returns a function that stops the stream. */
export function streamStately(root: AnyActorRef, names: ActorNames, stream: HttpStream): () => void {
  const rootId = root.sessionId;
  const send = (message: { readonly type: string; readonly sessionId: string }) => {
    if (stream.bufferedBytes > MAX_BUFFERED) return;
    const envelope = {
      ...message,
      rootId,
      id: message.sessionId,
      createdAt: String(Date.now()),
      _version: VERSION,
    };
    stream.write(`data: ${JSON.stringify(envelope)}\n\n`);
  };
  stream.write(': open\n\n');
  for (const ref of treeOf(root)) send(actorMessage(ref, names));
  const subscription = root.system.inspect((event) => {
    const message = messageOf(event, names);
    if (message !== undefined) send(message);
  });
  return () => subscription.unsubscribe();
}

function messageOf(inspection: InspectionEvent, names: ActorNames) {
  const ref = inspection.actorRef as AnyActorRef;
  const { sessionId } = ref;
  switch (inspection.type) {
    case '@xstate.actor':
      return actorMessage(ref, names);
    case '@xstate.event': {
      // The type of a completion contains the id of the actor, which may contain text of senders.
      const type = names.eventOf(inspection.event.type);
      return { type: inspection.type, sessionId, event: { type }, sourceId: inspection.sourceRef?.sessionId };
    }
    case '@xstate.snapshot': {
      const type = names.eventOf(inspection.event.type);
      return {
        type: inspection.type,
        sessionId,
        event: { type },
        snapshot: statusOf(inspection.snapshot as never),
      };
    }
    default:
      return undefined;
  }
}

function actorMessage(ref: AnyActorRef, names: ActorNames) {
  const { logic } = ref as unknown as { readonly logic: { readonly config?: unknown } };
  return {
    type: '@xstate.actor',
    sessionId: ref.sessionId,
    name: names.nameOf(ref.id),
    parentId: ref._parent?.sessionId,
    definition: JSON.stringify(logic.config ?? { id: ref.id }),
    // An actor under construction has no snapshot yet.
    snapshot: hasSnapshot(ref) ? statusOf(ref.getSnapshot()) : { status: 'active' },
  };
}

function hasSnapshot(ref: AnyActorRef): boolean {
  return (ref.getSnapshot() as unknown) !== undefined;
}

function statusOf(snapshot: Parameters<typeof stateOf>[0]) {
  return { status: snapshot.status, value: stateOf(snapshot) };
}
