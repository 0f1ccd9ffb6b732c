/** An account in live or test mode. Every stored object belongs to exactly one tenant. */
export type Tenant = { readonly accountId: string; readonly liveMode: boolean }
