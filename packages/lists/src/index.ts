export {
  type ListColumn,
  type ListName,
  listColumns,
  listNames,
  lists,
  otherValue,
  type StatisticsList,
  viewLists,
} from "./lists.js";
