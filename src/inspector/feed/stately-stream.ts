// What happens in the actor tree, in the three messages that viewers of @statelyai/inspect (0.7) understand: `@xstate.actor`,
// `@xstate.event`, `@xstate.snapshot`. For other tools, and only where `inspector.stately` is set.
//
// What a slow reader does not take is dropped, never kept (VW1).
//
// SY1  no context, no output and no payload: of an event its type, of a snapshot its status and value (AF2).

import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { ActorNames } from './actor-names.ts';
import { stateOf, treeOf } from './actor-tree.ts';

/** The version of the format, as its own package writes it. */
const VERSION = '0.7.2';
const MAX_BUFFERED = 1024 * 1024;

/** Tells `stream` of all actors that there are, and then of what they do, until what is returned is called. */
export function tellStately(root: AnyActorRef, names: ActorNames, stream: HttpStream): () => void {
  const rootId = root.sessionId;
  const send = (message: { readonly type: string; readonly sessionId: string }) => {
    if (stream.bufferedBytes > MAX_BUFFERED) return;
    const stamped = {
      ...message,
      rootId,
      id: message.sessionId,
      createdAt: String(Date.now()),
      _version: VERSION,
    };
    stream.write(`data: ${JSON.stringify(stamped)}\n\n`);
  };
  stream.write(': open\n\n');
  for (const ref of treeOf(root)) send(actorMessage(ref, names));
  const subscription = root.system.inspect((event) => {
    const message = messageOf(event, names);
    if (message !== undefined) send(message);
  });
  return () => subscription.unsubscribe();
}

function messageOf(inspected: InspectionEvent, names: ActorNames) {
  const ref = inspected.actorRef as AnyActorRef;
  const { sessionId } = ref;
  switch (inspected.type) {
    case '@xstate.actor':
      return actorMessage(ref, names);
    case '@xstate.event': {
      const type = names.eventOf(inspected.event.type);
      return { type: inspected.type, sessionId, event: { type }, sourceId: inspected.sourceRef?.sessionId };
    }
    case '@xstate.snapshot': {
      const type = names.eventOf(inspected.event.type);
      return {
        type: inspected.type,
        sessionId,
        event: { type },
        snapshot: plain(inspected.snapshot as never),
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
    // An actor that is being made has no snapshot yet.
    snapshot: hasSnapshot(ref) ? plain(ref.getSnapshot()) : { status: 'active' },
  };
}

function hasSnapshot(ref: AnyActorRef): boolean {
  return (ref.getSnapshot() as unknown) !== undefined;
}

function plain(snapshot: Parameters<typeof stateOf>[0]) {
  return { status: snapshot.status, value: stateOf(snapshot) };
}
