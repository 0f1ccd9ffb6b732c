const generationBits = 10n
const offsetBits = 38n
const positionBits = 16n

/**
 * Order two causes of one stored row: a 64-bit number of lane generation (10 bits), message offset (38) and position in the
 * message (16). Of two messages of one lane the later has the higher version, and a replay gives the same version again.
 * Throws a RangeError for a part that does not fit.
 */
export const rowVersionOf = (generation: number, offset: number, position: number): bigint =>
  (part('generation', generation, generationBits) << (offsetBits + positionBits)) |
  (part('offset', offset, offsetBits) << positionBits) |
  part('position', position, positionBits)

/** The parts of a version: the inverse of `versionOf`. */
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
