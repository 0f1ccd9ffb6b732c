/**
 * Return the partition of a key: FNV-1a of its UTF-16 units, finished as in MurmurHash3, modulo the number of
 * partitions. The result depends on both arguments only. A change of `partitions` moves keys, so it starts a new topic
 * generation.
 */
export const partitionOf = (key: string, partitions: number): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions
}

/** Return the key of all messages that can change the costs of a location. They share one partition, in order. */
export const partitionKey = (accountId: string, locationId: string): string => `${accountId}/${locationId}`
