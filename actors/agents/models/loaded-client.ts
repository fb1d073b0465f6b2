// The clients of providers, loaded when they are needed first.

import { installationFault } from '../../base/errors/installation-fault.ts';
import { ModelFaultError } from './model-errors.ts';

/** What `load` gives. Rejects with a ModelFaultError, after the name of the model: it passes with a mended installation. */
export async function loaded<Loaded>(what: string, load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    const fault = {
      what: `cannot be asked: ${what} ${installationFault(error)}`,
      isFinal: false,
      isUsedUp: true,
    };
    throw new ModelFaultError(fault);
  }
}
