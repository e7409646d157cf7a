export const CARRIED: string;
export const PUBLISHED: Record<string, string>;
export function bundle(entry: string): Promise<Uint8Array>;
