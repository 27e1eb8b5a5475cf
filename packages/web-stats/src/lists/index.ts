export {
  type ListColumn,
  type ListName,
  listColumns,
  listDimensions,
  listNames,
  lists,
  otherValue,
  type StatisticsList,
  viewLists,
  visitDimensionOf,
  visitLists,
} from "./lists.js";
