export const CARRIED: string;
export function bundle(entry: string): Promise<Uint8Array>;
