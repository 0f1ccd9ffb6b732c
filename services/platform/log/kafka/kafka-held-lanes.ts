import type { KafkaLane } from './kafka-lane.ts'
import type { Offsets } from './kafka-offsets.ts'

export type HeldLanesOptions = {
  readonly offsetsOf: () => Promise<readonly Offsets[]>
  readonly openLane: (partition: number, committed: number) => KafkaLane
  readonly opened: (lanes: readonly KafkaLane[]) => void
  readonly told: (text: string, error?: unknown) => void
}

/** The lanes that a member of a group reads at the moment. */
export type HeldLanes = {
  readonly all: () => Iterable<KafkaLane>
  /** Hold the lanes of these partitions and no others: those that were taken away are lost when this returns, new ones are opened soon. */
  readonly hold: (owned: ReadonlySet<number>) => void
  readonly loseAll: () => void
}

/** Begin with no lanes. One that could not be opened is opened with the next `hold`. */
export const heldLanes = ({ offsetsOf, openLane, opened, told }: HeldLanesOptions): HeldLanes => {
  const lanes = new Map<number, KafkaLane>()
  /** Partitions whose lanes are being opened, and by which attempt. */
  const opening = new Map<number, symbol>()

  /** Open lanes at what is committed now; those that were taken away meanwhile, even if given again, are not opened from it. */
  const open = async (partitions: readonly number[], attempt: symbol): Promise<void> => {
    const isWanted = (partition: number): boolean => opening.get(partition) === attempt
    try {
      const offsets = await offsetsOf()
      const made = partitions.filter(isWanted).map(partition => openLane(partition, offsets[partition]?.committed ?? 0))
      for (const lane of made) lanes.set(lane.partition, lane)
      opened(made)
    } catch (error) {
      told('lanes could not be opened', error)
    }
    for (const partition of partitions.filter(isWanted)) opening.delete(partition)
  }

  return {
    all: () => lanes.values(),
    hold: owned => {
      for (const partition of [...lanes.keys(), ...opening.keys()].filter(one => !owned.has(one))) {
        lanes.get(partition)?.lose()
        lanes.delete(partition)
        opening.delete(partition)
      }
      const missing = [...owned].filter(partition => !lanes.has(partition) && !opening.has(partition))
      if (missing.length === 0) return
      const attempt = Symbol()
      for (const partition of missing) opening.set(partition, attempt)
      void open(missing, attempt)
    },
    loseAll: () => {
      for (const lane of lanes.values()) lane.lose()
      lanes.clear()
      opening.clear()
    },
  }
}
