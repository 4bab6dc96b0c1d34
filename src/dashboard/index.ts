export { dashboard } from './dashboard.js';
export type { DashboardHandler, DashboardOptions } from './dashboard.js';
