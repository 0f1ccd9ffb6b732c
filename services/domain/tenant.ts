/** An account in live or test mode. Every stored object belongs to exactly one tenant. */
export type Tenant = { readonly accountId: string; readonly liveMode: boolean }

/** Members of every stored object of a tenant. `createdAt` in ms. */
export type OwnedObject = Tenant & { readonly id: string; readonly createdAt: number }
