/**
 * Time in ms by which the clock of a service can differ from that of the test. The service follows the clock of its
 * database.
 */
export const clockToleranceMs = 10
