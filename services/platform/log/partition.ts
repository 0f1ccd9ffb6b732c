/**
 * Choose the partition of a key: FNV-1a of its UTF-16 units, finished as in MurmurHash3, modulo the number of partitions.
 * The same key always gives the same partition; a change of `partitions` moves keys and therefore starts a new generation.
 */
export const partitionOf = (key: string, partitions: number): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions
}

/** The key of everything that can change the cost of a location's records: they all travel in one partition, in order. */
export const partitionKey = (accountId: string, locationId: string): string => `${accountId}/${locationId}`
