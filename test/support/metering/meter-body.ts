const quarterHour = 900_000

const idAt = (prefix: string, index: number): string => `${prefix}_0198c0ffee00${index.toString(16).padStart(12, '0')}`
const timeText = (ms: number): string => new Date(ms).toISOString().replace('.000', '')

/**
 * Create the body that a fleet of chargers sends for one quarter hour. 500 records are about 150 kB.
 * The quarter hour starts `round` quarter hours before `at`.
 */
export const ordinaryBody = ({
  records,
  at,
  round,
  sites = 100,
}: {
  records: number
  at: number
  round: number
  sites?: number
}): string =>
  JSON.stringify(
    Array.from({ length: records }, (_, index) => ({
      location_id: idAt('loc', index % sites),
      device_id: idAt('dev', index),
      session_reference_id: `session-${round}-${index % 250}`,
      record_reference_id: `record-${index}`,
      energy_flow_direction: 'INBOUND',
      units: 'WH',
      value: Math.round(((index * 7919) % 250_000) * 17) / 100,
      start_time: timeText(at - round * quarterHour),
      end_time: timeText(at - round * quarterHour + quarterHour),
    })),
  )
