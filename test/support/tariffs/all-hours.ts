/** Create a schedule of the HTTP API with the same rates at all hours. */
export const allHours = <Rate extends object>(rate: readonly Rate[]) => [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }],
  },
]
