const generationBits = 10n
const offsetBits = 38n
const positionBits = 16n

/**
 * Return the version of a stored row: a 64-bit number of topic generation (10 bits), message offset (38 bits) and
 * position in the message (16 bits). Within a partition, a later message has the higher version, and a repeated message
 * has the same version again. Throws a RangeError if a part does not fit.
 */
export const rowVersionOf = (generation: number, offset: number, position: number): bigint =>
  (part('generation', generation, generationBits) << (offsetBits + positionBits)) |
  (part('offset', offset, offsetBits) << positionBits) |
  part('position', position, positionBits)

/** Return the parts of a version. Inverse of `rowVersionOf`. */
export const rowVersionParts = (
  version: bigint,
): { readonly generation: number; readonly offset: number; readonly position: number } => ({
  generation: Number(version >> (offsetBits + positionBits)),
  offset: Number((version >> positionBits) & ((1n << offsetBits) - 1n)),
  position: Number(version & ((1n << positionBits) - 1n)),
})

const part = (name: string, value: number, bits: bigint): bigint => {
  const whole = BigInt(value)
  if (whole < 0n || whole >= 1n << bits) throw new RangeError(`${name} ${value} does not fit into ${bits} bits`)
  return whole
}
