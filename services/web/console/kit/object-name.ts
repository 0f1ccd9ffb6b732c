import type { ConsoleRequest } from '../console-request.ts'

const collections: Readonly<Record<string, string>> = { loc_: 'locations', dev_: 'devices', cus_: 'customers' }

/** Return the own reference of a location, device or customer; its id if it has none. */
export const objectName = async ({ api }: Pick<ConsoleRequest, 'api'>, id: string): Promise<string> => {
  const collection = collections[id.slice(0, 4)]
  if (collection === undefined) return id
  const found = await api<{ readonly reference_id: string | null }>('GET', `/${collection}/${encodeURIComponent(id)}`)
  return found.ok ? (found.value.reference_id ?? id) : id
}
