/** An account in live or test mode. Every stored object belongs to exactly one tenant. */
export type Tenant = { readonly accountId: string; readonly liveMode: boolean }

/** Members of every stored object of a tenant. `createdAt` in ms. */
export type OwnedObject = Tenant & { readonly id: string; readonly createdAt: number }

/** Members of every stored object that can be shared. A shared object has no account and no mode. */
export type SharedObject = Omit<OwnedObject, keyof Tenant> & { readonly [Name in keyof Tenant]: Tenant[Name] | null }

/** Return a key of a tenant. */
export const tenantKey = ({ accountId, liveMode }: Tenant): string => `${accountId}/${liveMode}`

/** Group items by tenant. */
export const groupByTenant = <T extends Tenant>(items: readonly T[]): readonly (readonly [Tenant, readonly T[]])[] =>
  [...Map.groupBy(items, tenantKey).values()].map(own => {
    const { accountId, liveMode } = own[0] as T
    return [{ accountId, liveMode }, own] as const
  })
