export function installReal(): Promise<void>;
